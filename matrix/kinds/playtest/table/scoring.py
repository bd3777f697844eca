r"""From a session's counts and the judge's verdict to metrics and one number between 0 and 100.

The composite is a weighted mean of up to four parts, each between 0 and 1:

``progress``
    0.65 completion + 0.25 pace + 0.10 ending, where completion is pulses detected over pulses
    expected (at most 1), pace is 2 / (1 + turns per pulse), and ending is 1 if the story was
    brought to an end that did not come too early.
``tangents``
    0.4 recovery + 0.3 speed + 0.3 segue, where recovery counts a natural return as 1, a forced one
    as 0.5 and none as 0; speed is exp(-(average length - 1) / 3); segue is the quality from 1 to 5
    moved to 0..1. Without a known segue quality the other two share its weight. Missing when there
    was no tangent.
``quality``
    The mean of the judge's dimensions, 1 to 5 moved to 0..1, and of that the mean over the repeats
    of the judge that could be read. Missing without a judge, and where none could be read.
``soundness``
    exp(-burden / 5), where burden adds up the issues by ``BURDEN``: 1 is a session without any.
    Its weight is the option ``weights.failures``: how much failures count.

    score = 100 * sum(weight * part) / sum(weight), over the parts that there was something to
    measure for.

A judge that was asked and could not be read leaves no score where quality counts: the mean of the
other parts would be a score of another scale, and a lost judgement would move it.

Every part moves smoothly, and never down when something it rewards goes up.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from matrix.judging.asking import Judged
from matrix.judging.recording import record_repeats
from matrix.judging.repeats import mean_of
from matrix.judging.rubric import Rubric
from matrix.judging.verdict import UNREADABLE, RubricVerdict
from matrix.kinds.context import Context
from matrix.kinds.playtest.setup.options import Weights
from matrix.kinds.playtest.setup.state import MomentBook, PlaytestState, TangentBook
from matrix.kinds.playtest.table.judge import QUALITIES, QUALITY
from matrix.kinds.playtest.table.survey import SCORES as OF_SURVEY

if TYPE_CHECKING:
    from matrix.kinds.playtest.detect.issues import IssueFound

BURDEN: Final[Mapping[str, float]] = {
    "breakdown": 2.0,
    "loop": 1.5,
    "character_break": 1.0,
    "contradiction": 1.0,
    "guide_deviation": 0.6,
    "stuck": 0.6,
    "forced_segue": 0.3,
    "confusion": 0.3,
    "early_end": 3.0,
}
"""How heavily one issue of a kind weighs in ``soundness``."""

COUNT_NAMES: Final[Mapping[str, str]] = {
    "breakdown": "breakdowns",
    "loop": "loops",
    "contradiction": "contradictions",
    "character_break": "character_breaks",
    "guide_deviation": "guide_deviations",
    "confusion": "confusion_events",
    "stuck": "stuck_moments",
    "forced_segue": "forced_segues",
    "early_end": "early_ends",
}
"""Issue kind -> name of the score that counts it."""


COUNTED: Final = (
    "pulses_detected",
    "pulses_expected",
    "pulse_completion",
    "turns_per_pulse",
    "pulse_longest_gap",
    "concluded",
    "finished",
    "tangent_count",
    "tangent_avg_length",
    "tangent_max_length",
    "recovery_rate",
    "segue_quality",
    "tangent_spirals",
    "tangent_woven",
    "tangent_patience",
    "explorations",
    "exploration_followed",
    "private_moments",
    "private_payoffs",
    "private_payoff_rate",
    "private_shared",
    "private_spoiled",
    "private_alignment",
    "private_appropriateness",
    "private_timing",
    "relay_misattributed",
    "relay_added",
    "relay_left_out",
    "pulses_opening",
    "pulses_middle",
    "pulses_closing",
    *COUNT_NAMES.values(),
)
"""Scores that need no judge."""

UNDIRECTED: Final = frozenset(
    {
        "pulses_detected",
        "pulses_expected",
        "pulses_opening",
        "pulses_middle",
        "pulses_closing",
        "tangent_count",
        "explorations",
        "private_moments",
        "private_payoffs",
        "private_shared",
    }
)
"""Counts of what a story and its players bring, and shares of where: neither good nor bad."""


class CompositeParts(NamedTuple):
    """Parts of the composite, each from 0 to 1, ``None`` where there is nothing to go by."""

    progress: float | None
    tangents: float | None
    quality: float | None
    soundness: float | None

    def weighed(self, weights: Weights) -> list[tuple[float, float]]:
        """Weight and value of every part that is there."""
        pairs = zip(
            (weights.progress, weights.tangents, weights.quality, weights.failures),
            self,
            strict=True,
        )
        return [(weight, value) for weight, value in pairs if value is not None]


SCORE_NAMES: Final = frozenset(
    {
        "score",
        "passed",
        *COUNTED,
        *(f"part_{name}" for name in CompositeParts._fields),
        *(QUALITY + name for name in QUALITIES),
        *OF_SURVEY.values(),
    }
)
"""Scores that a session ends with; repeats of the judge come on top, as ``judge.<n>...``."""


def progress_part(completion: float, turns_per_pulse: float | None, concluded: bool) -> float:
    """Pulses delivered, their pace, and an ending."""
    pace = 0.0 if turns_per_pulse is None else min(1.0, 2.0 / (1.0 + turns_per_pulse))
    return 0.65 * min(1.0, completion) + 0.25 * pace + 0.10 * concluded


def tangents_part(recovery: float, average_length: float, segue: float | None) -> float:
    """How tangents were met; ``segue`` is the average quality from 1 to 5, if known."""
    speed = math.exp(-max(0.0, average_length - 1.0) / 3.0)
    if segue is None:
        return (0.4 * recovery + 0.3 * speed) / 0.7
    return 0.4 * recovery + 0.3 * speed + 0.3 * (segue - 1.0) / 4.0


def soundness_part(issues: Mapping[str, int]) -> float:
    """Freedom from issues: 1 without any, towards 0 with many."""
    return math.exp(-sum(BURDEN.get(kind, 0.0) * count for kind, count in issues.items()) / 5.0)


def composite(parts: CompositeParts, weights: Weights, *, judged: bool = False) -> float | None:
    """The weighted mean of the parts that are there, times 100; ``None`` if none of them counts.

    Args:
        parts: The parts; one that is ``None`` leaves its weight to the others.
        weights: How much each counts.
        judged: Whether a judge was asked, so that quality which is ``None`` has been lost: then
            there is no score, unless its weight is 0.
    """
    if judged and parts.quality is None and weights.quality > 0:
        return None
    pairs = parts.weighed(weights)
    total = sum(weight for weight, _ in pairs)
    if total <= 0:
        return None
    return min(100.0, max(0.0, 100.0 * sum(weight * value for weight, value in pairs) / total))


def parts_of(state: PlaytestState, expected: int, quality: float | None) -> CompositeParts:
    """The parts of a finished session; ``quality`` comes from the judge."""
    book = state.tangents
    tangents = None
    if book.count:
        recovery = (book.natural + 0.5 * book.forced) / book.count
        tangents = tangents_part(recovery, book.turns / book.count, segue_quality(book))
    return CompositeParts(
        progress=progress_part(state.pulses / expected, turns_per_pulse(state), finished(state)),
        tangents=tangents,
        quality=quality,
        soundness=soundness_part(state.issues),
    )


def finished(state: PlaytestState) -> bool:
    """Whether the story was told to an end, and not only called ended."""
    return state.concluded and not state.issues.get("early_end")


def turns_per_pulse(state: PlaytestState) -> float | None:
    """Narrator turns for each pulse; ``None`` without a pulse."""
    return state.turns / state.pulses if state.pulses else None


def segue_quality(book: TangentBook) -> float | None:
    """Average quality of returns from 1 to 5, where the classifier gave one."""
    return book.quality_sum / book.quality_count if book.quality_count else None


def pulse_thirds(state: PlaytestState) -> tuple[float, float, float] | None:
    """Shares of the pulses that fell into the first, second and last third of the turns."""
    if not state.pulse_turns:
        return None
    counts = [0, 0, 0]
    for turn in state.pulse_turns:
        counts[min(2, 3 * (turn - 1) // state.turns)] += 1
    first, second, last = (count / len(state.pulse_turns) for count in counts)
    return (first, second, last)


def record_findings(ctx: Context, findings: Sequence[IssueFound], turn: int | None = None) -> None:
    """Record findings as events of this turn, or of an earlier one."""
    for found in findings:
        ctx.event(
            found.kind,
            subject=found.subject,
            detail=found.detail,
            value=found.value,
            severity=found.severity,
            turn=turn,
            data=found.data,
        )


def tangent_patience(handled: Sequence[float]) -> float | None:
    """How later tangents of a session were met, less how earlier ones were; ``None`` below two.

    From -1 to 1: below 0 the narrator loses patience. The middle one of an odd number is in
    neither half.
    """
    half = len(handled) // 2
    if not half:
        return None
    return (sum(handled[-half:]) - sum(handled[:half])) / half


def record_counts(ctx: Context, state: PlaytestState, expected: int) -> dict[str, float | None]:
    """Record every metric that needs no judge, and give them."""
    book = state.tangents
    returned = book.natural + book.forced
    values: dict[str, float | None] = {
        "pulses_detected": state.pulses,
        "pulses_expected": expected,
        "pulse_completion": min(1.0, state.pulses / expected),
        "turns_per_pulse": turns_per_pulse(state),
        "pulse_longest_gap": state.widest_gap,
        "concluded": float(state.concluded),
        "finished": float(finished(state)),
        "tangent_count": book.count,
        "tangent_avg_length": book.turns / book.count if book.count else None,
        "tangent_max_length": book.longest if book.count else None,
        "recovery_rate": returned / book.count if book.count else None,
        "segue_quality": segue_quality(book),
        "private_moments": state.moments.count,
        "private_payoffs": state.moments.paid,
    }
    values |= {
        "tangent_spirals": book.spirals,
        "tangent_woven": book.woven / returned if returned else None,
        "tangent_patience": tangent_patience(book.handled),
        "explorations": book.explored,
        "exploration_followed": book.followed / book.explored if book.explored else None,
    }
    values |= moment_scores(state.moments)
    relays = state.relays
    values |= {
        "relay_misattributed": relays.misattributed / relays.count if relays.count else None,
        "relay_added": relays.added / relays.count if relays.count else None,
        "relay_left_out": relays.left_out / relays.count if relays.count else None,
    }
    thirds = pulse_thirds(state) or (None, None, None)
    values |= dict(zip(("pulses_opening", "pulses_middle", "pulses_closing"), thirds, strict=True))
    values |= {name: state.issues.get(kind, 0) for kind, name in COUNT_NAMES.items()}
    reasons = {"private_payoff_rate": _paid_told(state.moments)}
    for name, value in values.items():
        known = None if value is None else float(value)
        ctx.score(name, known, reason=reasons.get(name, ""))
    return values


def _paid_told(book: MomentBook) -> str:
    """How many private moments paid off, of how many; of some it cannot be seen."""
    if not book.count:
        return ""
    unseen = book.count - book.followed
    left = f"; {unseen} with too few words to be followed" if unseen else ""
    return f"{book.paid} of {book.followed} private moments paid off{left}"


def moment_scores(book: MomentBook) -> dict[str, float | None]:
    """How private moments were placed, and what became of them; shares and means over all.

    The share that paid off is of those that could be followed, and missing where none could.
    """
    named = {
        "private_shared": book.told,
        "private_alignment": book.alignment,
        "private_appropriateness": book.appropriateness,
        "private_timing": book.timing,
    }
    shares = {name: value / book.count if book.count else None for name, value in named.items()}
    rate = book.paid / book.followed if book.followed else None
    return {"private_payoff_rate": rate, **shares, "private_spoiled": float(book.spoiled)}


def record_composite(
    ctx: Context,
    state: PlaytestState,
    expected: int,
    judged: Sequence[Judged[RubricVerdict]],
    weights: Weights,
    rubric: Rubric,
) -> dict[str, float | None]:
    """Record the parts and the composite, which is the session's ``score``, and give them.

    The composite moves in proportion to its quality part, so with repeats of the judge it is the
    mean of what each that could be read makes of it alone.
    """
    qualities = [rubric.composed(one.verdict.scores) if one.verdict else None for one in judged]
    parts = parts_of(state, expected, mean_of(qualities))
    for name, value in parts._asdict().items():
        ctx.score(f"part_{name}", value)
    lost = bool(judged) and parts.quality is None and weights.quality > 0
    score = composite(parts, weights, judged=bool(judged))
    told = weights_told(weights, parts) if score is not None else ""
    ctx.score("score", score, reason=_why_lost(judged) if lost else told)
    alone = [
        composite(parts._replace(quality=quality), weights, judged=True) for quality in qualities
    ]
    record_repeats(ctx, rubric, judged, alone, QUALITY)
    values = {f"part_{name}": value for name, value in parts._asdict().items()}
    for name in rubric.names:
        given = [one.verdict.scores.get(name) if one.verdict else None for one in judged]
        values[QUALITY + name] = mean_of(given)
    return {**values, "score": score}


def weights_told(weights: Weights, parts: CompositeParts) -> str:
    """By what the parts were weighed, for whoever has the score and not the run's options.

    Parts that there was nothing to measure for have left their weight to the others.
    """
    there = [name for name, part in parts._asdict().items() if part is not None]
    told = zip(there, parts.weighed(weights), strict=True)
    return f"weights: {', '.join(f'{name} {weight:g}' for name, (weight, _) in told)}"


def record_passed(
    ctx: Context,
    values: Mapping[str, float | None] | None,
    pass_if: Mapping[str, float],
    lower_is_better: Collection[str] = (),
) -> None:
    """Record whether a session passed; there is no such score without thresholds.

    Args:
        ctx: The session.
        values: Its scores; ``None`` of one that failed, which passes nothing.
        pass_if: Name of a score -> at least what it must be, or at most where less is better.
        lower_is_better: Scores of which less is better.
    """
    if not pass_if:
        ctx.score("passed", None)
        return
    if values is None:
        ctx.score("passed", 0.0)
        return
    missing = sorted(name for name in pass_if if values.get(name) is None)
    holds = all(
        value <= pass_if[name] if name in lower_is_better else value >= pass_if[name]
        for name in pass_if
        if (value := values.get(name)) is not None
    )
    if holds and missing:
        ctx.score("passed", None, reason=f"no {' and no '.join(missing)}")
    else:
        ctx.score("passed", float(holds))


def _why_lost(judged: Sequence[Judged[RubricVerdict]]) -> str:
    """Why no judging has a quality: one without some of its dimensions has none either."""
    read = any(one.verdict for one in judged)
    return "the judge left dimensions of quality without a score" if read else UNREADABLE
