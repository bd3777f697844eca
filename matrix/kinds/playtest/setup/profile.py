"""What a session is expected to use, so that a run's cost is known before it starts.

Rough on purpose: numbers of turns follow from the pulses expected, tokens from the lengths of
prompt and guide and from what such sessions usually write. ``high`` is what few sessions exceed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from matrix.judging.asking import TRIES
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.protocol import RoleProfile

CHARS_PER_TOKEN = 4.0
TURNS_PER_PULSE = (1.1, 1.5, 2.4)
"""Low, middle and high; a session also needs a turn or so to end."""

_NARRATION, _REACTION, _RELAY, _LABEL, _VERDICT, _PERSONA = 165.0, 36.0, 50.0, 60.0, 150.0, 110.0
"""Tokens that one answer of each role usually has."""

_OPINION, _PERSON = 45.0, 280.0
"""Tokens of one answer to a question of a survey, and of a player's system prompt."""

MEMORY_TOKENS = 1500
"""What a player is reminded of before being asked about the whole session."""

Three = tuple[float, float, float]

_QUOTING = 130.0
"""Tokens of a verdict on issues, which gives the words of two messages."""

_REVIEWED: Three = (0.2, 0.6, 1.0)
_ALL_REVIEWED: Three = (0.8, 0.9, 1.0)
"""Share of sessions in which patterns found no issue of a type, and the judge's marks, where it
gives any, are not the best."""

_CONFIRMED: Three = (0.0, 0.3, 2.0)
"""Reports of one type in a session, about each of which the judge is asked before it counts."""

_UNSURE: Three = (0.7, 0.9, 1.0)
_UNSURE_OF_BEATS: Three = (0.6, 0.75, 1.0)
"""Share of outputs that the classifier is asked about, because their wording does not show what
they are, or that of the group what it is about: of any guide, and of one that lists its beats,
which are known again."""


class Shape(NamedTuple):
    """What the estimate depends on."""

    max_turns: int
    pulses: int
    prompt_chars: int
    guide_chars: int
    lists_beats: bool = False


def _times(one: Three, other: Three) -> Three:
    return (one[0] * other[0], one[1] * other[1], one[2] * other[2])


def _sizes(options: PlaytestOptions) -> Three:
    if options.group is not None:
        size = float(len(options.group))
        return (size, size, size)
    low, high = float(options.group_size_min), float(options.group_size_max)
    return (low, (low + high) / 2, high)


def expected_turns(shape: Shape) -> Three:
    """Low, middle and high number of turns of a session."""
    low, middle, high = (
        min(float(shape.max_turns), math.ceil(rate * shape.pulses) + 1.0)
        for rate in TURNS_PER_PULSE
    )
    return (low, middle, high)


def session_profile(
    shape: Shape, options: PlaytestOptions, role_models: Mapping[str, str], pool: Mapping[str, str]
) -> tuple[RoleProfile, ...]:
    """Expected use per session; ``pool`` is archetype id -> model of those that may be drawn."""
    turns, sizes = expected_turns(shape), _sizes(options)
    if options.interview is not None:
        return _shared(
            roles.PLAYERS, role_models, pool, options, (1.0, 1.0, 1.0), _told(turns[1]), _OPINION
        )
    unsure = _UNSURE_OF_BEATS if shape.lists_beats else _UNSURE
    asked = (turns[0] + 2, turns[1] + 2, turns[2] + 2)  # character creation is two more
    size = _sizes_of_input(shape, options, turns[1], sizes[1])

    def one(role: str, calls: Three, output: float) -> RoleProfile:
        return RoleProfile(role, role_models[role], calls, size[role], output)

    def each(
        role: str, calls: Three, output: float, at_once: float = 1.0
    ) -> tuple[RoleProfile, ...]:
        shared = _shared(role, role_models, pool, options, calls, size[role], output)
        return tuple(use._replace(at_once=at_once) for use in shared)

    profile = (
        one(roles.NARRATOR, asked, _NARRATION),
        one(roles.CLASSIFIER, _times(turns, unsure), _LABEL),
        *each(roles.PLAYERS, _times(sizes, asked), _REACTION, sizes[1]),
        *each(roles.SPOKESPERSON, turns, _RELAY),
        *_survey(options, role_models, pool, turns[1]),
    )
    if not options.with_judge:
        return (*profile, *_review(options, one))
    repeats = float(options.judge_repeats)
    judge = one(roles.JUDGE, (repeats, repeats, TRIES * repeats), _VERDICT)
    return (*profile, judge._replace(at_once=repeats), *_review(options, one))


def _review(
    options: PlaytestOptions, one: Callable[[str, Three, float], RoleProfile]
) -> tuple[RoleProfile, ...]:
    """The judge asked about issues: about each report, and the session where there was none.

    Of what it was asked about it gives its quotations, which are longer than marks.
    """
    asked = float(len(options.check_issues))
    if not asked:
        return ()
    read = _REVIEWED if options.with_judge else _ALL_REVIEWED
    each = (read[0] + _CONFIRMED[0], read[1] + _CONFIRMED[1], read[2] + _CONFIRMED[2])
    return (one(roles.JUDGE, _times((asked, asked, TRIES * asked), each), _QUOTING),)


def _told(turns: float) -> float:
    """Input tokens of a question about the whole session: who is asked, and their memory."""
    return _PERSON + 100.0 + min(float(MEMORY_TOKENS), turns * 60.0)


def _survey(
    options: PlaytestOptions, role_models: Mapping[str, str], pool: Mapping[str, str], turns: float
) -> tuple[RoleProfile, ...]:
    """Every player asked once, at the end; of whom no answer can be read, twice."""
    if not options.survey:
        return ()
    sizes = _sizes(options)
    calls = (sizes[0], sizes[1], TRIES * sizes[2])
    written = _OPINION * len(options.survey)
    asked = _shared(roles.PLAYERS, role_models, pool, options, calls, _told(turns), written)
    return tuple(use._replace(at_once=sizes[1]) for use in asked)


def _sizes_of_input(
    shape: Shape, options: PlaytestOptions, turns: float, players: float
) -> dict[str, float]:
    """Input tokens of an average call of each role."""
    said = players * _REACTION
    guide = shape.guide_chars / CHARS_PER_TOKEN
    told = turns / 2 * (_NARRATION + _RELAY)
    if options.history_tokens:
        begun = 60 + (shape.prompt_chars + shape.guide_chars) / CHARS_PER_TOKEN
        told = min(told, max(0.0, options.history_tokens - begun))
    recent = options.recent_messages * (_REACTION + 10)
    memory = min(float(options.memory_tokens), 60.0 + turns / 2 * 45.0)
    return {
        roles.NARRATOR: 60 + shape.prompt_chars / CHARS_PER_TOKEN + guide + told,
        roles.CLASSIFIER: 330 + _RELAY + _NARRATION,
        roles.PLAYERS: _PERSON + _NARRATION + recent + (memory if options.memory_tokens else 0.0),
        roles.SPOKESPERSON: 150 + _NARRATION + said,
        roles.JUDGE: 600 + guide + turns * (_NARRATION + _RELAY + said),
    }


def prelude_profile(
    options: PlaytestOptions, role_models: Mapping[str, str], pool: Mapping[str, str]
) -> tuple[RoleProfile, ...]:
    """Expected use of one prelude: a casting call per player."""
    return _shared(roles.PLAYERS, role_models, pool, options, _sizes(options), 260.0, _PERSONA)


def _shared(
    role: str,
    role_models: Mapping[str, str],
    pool: Mapping[str, str],
    options: PlaytestOptions,
    calls: Three,
    input_tokens: float,
    output_tokens: float,
) -> tuple[RoleProfile, ...]:
    """One profile per model of a role that follows the archetypes, by their shares of the pool."""
    if not roles.is_by_archetype(role_models[role]):
        return (RoleProfile(role, role_models[role], calls, input_tokens, output_tokens),)
    seats: Sequence[str] = options.group or sorted(pool)
    known = options.group is not None
    if role == roles.SPOKESPERSON and options.spokesperson_archetype is not None:
        seats, known = (options.spokesperson_archetype,), True
    counts = Counter(roles.model_of(role, role_models, pool[id_]) for id_ in seats)
    found = []
    for model, count in sorted(counts.items()):
        share = count / len(seats)
        # A drawn group may be all of one model: the high estimate allows one standard deviation.
        spread = 0.0 if known else math.sqrt(share * (1 - share) / _sizes(options)[1])
        shares = (max(0.0, share - spread), share, min(1.0, share + spread))
        found.append(RoleProfile(role, model, _times(calls, shares), input_tokens, output_tokens))
    return tuple(found)
