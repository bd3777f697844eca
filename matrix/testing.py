"""For tests of one's own kinds: play one session with answers that the test writes.

    from matrix.testing import play
    from support import support

    def test_it_is_resolved():
        played = play(support, {"agent": "Restart it.", "customer": ["Hm.", "Solved!"]})
        assert played.scores["resolved"] == 1.0

No network, no files, no run: the session is played by the engine itself, in memory.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, cast

from matrix.engine.session.durable_session import DurableSession
from matrix.engine.wire.messages import Snapshot
from matrix.kinds.function.context import ScenarioContext
from matrix.kinds.function.declaring import declared_of
from matrix.kinds.function.files import kind_of
from matrix.kinds.function.kind import CASE, FunctionKind
from matrix.kinds.function.scripts import Asked, ScriptedAnswer, asked_of, said_by, tool_call
from matrix.kinds.function.source import Scenario, Source
from matrix.kinds.protocol import Kind, is_said
from matrix.model.documents.yaml_documents import Document, check
from matrix.model.entries import TurnDone
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.records import Answer, Call, Event, Message, SessionPlan, Usage

__all__ = ["Asked", "PlayedSession", "ScenarioContext", "play", "play_async", "tool_call"]

_MOST_TURNS: Final = 1_000
_LONGEST_S: Final = 1e9


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """What a session came to.

    Attributes:
        scores: Name -> value; ``score`` among them.
        outcome: ``completed``, ``failed`` or ``timeout``.
        reason: Why it ended so.
        said: The transcript: speaker and text.
        asked: Every request, with its role, messages and parameters.
        events: What was recorded by ``ctx.event``.
        turns: Turns; one, without checkpoints.
    """

    scores: Mapping[str, float | None]
    outcome: str
    reason: str
    said: tuple[tuple[str, str], ...]
    asked: tuple[Call, ...]
    events: tuple[Event, ...]
    turns: int


def play(
    target: Callable[..., Any],
    answers: Mapping[str, Any] | Callable[[Asked], Any] | None = None,
    *,
    case: str = "",
    seed: int = 1,
    levels: Mapping[str, str] | None = None,
    **options: Any,
) -> PlayedSession:
    """Play one session of a function or class with ``@matrix.scenario`` over it.

    Args:
        target: The function or class.
        answers: Role -> what it says: a text, texts that come one after another, a function of
            what is :class:`Asked`; or such a function for all. Roles that are not in it say what
            the kind's own ``simulated`` has.
        case: Name of the case, where there are cases; the first, if left out.
        seed: Of draws.
        levels: Factor -> level, for answers that depend on them.
        options: Values of parameters.

    Raises:
        AssertionError: The session errored, or somebody was asked who has no answer.
        BadInput: An option that the function does not take, or an answer of a role that it has not.
    """
    return asyncio.run(play_async(target, answers, case=case, seed=seed, levels=levels, **options))


async def play_async(
    target: Callable[..., Any],
    answers: Mapping[str, Any] | Callable[[Asked], Any] | None = None,
    *,
    case: str = "",
    seed: int = 1,
    levels: Mapping[str, str] | None = None,
    **options: Any,
) -> PlayedSession:
    """:func:`play`, where there is an event loop already."""
    kind, roles = _kind(target)
    _check_roles(answers, roles)
    pack = _case(kind, case)
    checked = check(Document("play(...)", options, {}, {}), kind.options_model)
    plan = SessionPlan(
        session_id="test",
        part="play",
        order=0,
        round=0,
        seed=seed,
        scenario=pack.name,
        kind=kind.name,
        levels=dict(levels or {}),
        options=checked.model_dump(mode="json"),
        roles=roles,
        resources={CASE: CASE},
        prelude_id=None,
        max_turns=_MOST_TURNS,
        max_session_s=_LONGEST_S,
    )
    models, turns = _Answers(kind, answers), list[TurnDone]()
    session = DurableSession(
        cast(Kind, kind), plan, Snapshot(None, (), None, None), pack.content, models, turns.append
    )
    ended = await session.play()
    assert ended is not None
    assert ended.outcome not in ("errored", "censored"), ended.reason
    said: list[Message] = [one for done in turns for one in done.messages if is_said(one)]
    return PlayedSession(
        {one.name: one.value for done in turns for one in done.scores},
        ended.outcome,
        ended.reason,
        tuple((one.speaker, one.text) for one in said),
        tuple(models.asked),
        tuple(event for done in turns for event in done.events),
        ended.turns,
    )


def _kind(target: Callable[..., Any]) -> tuple[FunctionKind, dict[str, str]]:
    declared = declared_of(target)
    if declared is None:
        told = f"found {target!r}; write @matrix.scenario over the function"
        raise BadInput([Mistake("play(...)", None, "", told)])
    file = Path(inspect.getfile(target))
    scenario = Scenario(target.__name__, target, declared)
    source = Source(file.name, _code(target))
    return kind_of(scenario, source, file.parent), dict(declared.roles)


def _check_roles(answers: Any, roles: Mapping[str, str]) -> None:
    for name in answers if isinstance(answers, Mapping) else ():
        if name not in roles:
            told = f"found {name!r}; the roles are: {', '.join(roles)}"
            told += did_you_mean(str(name), list(roles))
            raise BadInput([Mistake("play(...)", None, "answers", told)])


def _code(target: Callable[..., Any]) -> str:
    """Its file, or itself where it stands inside of something; empty where it was typed in."""
    try:
        if target.__qualname__ == target.__name__:
            return Path(inspect.getfile(target)).read_text(encoding="utf-8-sig")
        return dedent(inspect.getsource(target))
    except OSError:
        return ""


def _case(kind: FunctionKind, name: str) -> Any:
    packs = kind.packs()
    if name and name not in packs:
        told = f"found {name!r}; there are: {', '.join(packs)}{did_you_mean(name, list(packs))}"
        raise BadInput([Mistake("play(...)", None, "case", told)])
    return packs[name] if name else next(iter(packs.values()))


@dataclass(slots=True)
class _Answers:
    """Answers calls by what a test wrote, and keeps what was asked."""

    kind: FunctionKind
    answers: Mapping[str, Any] | Callable[[Asked], Any] | None
    asked: list[Call] = field(default_factory=list)
    _given: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    async def ask(self, call: Call) -> Answer:
        self.asked.append(call)
        said = self._own(call)
        if said is None and (own := self.kind.scripted(call)) is not None:
            said = ScriptedAnswer(*own)
        assert said is not None, f"nobody answers for the role {call.role!r}; give it an answer"
        return Answer(said.text, Usage(), 0, 0.0, call.model, tool_calls=said.tool_calls)

    def _own(self, call: Call) -> ScriptedAnswer | None:
        entry = self.answers.get(call.role) if isinstance(self.answers, Mapping) else self.answers
        if entry is None:
            return None
        if isinstance(entry, list):
            number = self._given[call.role]
            self._given[call.role] += 1
            told = f"the role {call.role!r} is asked more than its {len(entry)} answers"
            assert number < len(entry), told
            entry = entry[number]
        one_for_all = not isinstance(self.answers, Mapping)
        return said_by(entry, asked_of(call), "answers", one_for_all=one_for_all)
