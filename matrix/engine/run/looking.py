"""The driver's part in looking at the scores: makes looks due, has them journalled, says them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.earlier import Earlier
from matrix.engine.run.interim_looks import Looks, declared_rules
from matrix.engine.run.launcher import Past
from matrix.engine.wire.messages import SessionEnded
from matrix.model.entries import Ended, Looked
from matrix.model.metrics import (
    TurnLimit,
    counted_as,
    judged_outcome,
    measured,
    name_of,
    unit_of,
)
from matrix.model.records import SessionPlan
from matrix.stats import verdict_sentence


def looks_of(prepared: Prepared, earlier: Earlier) -> Looks | None:
    """The looks of a run that is looked at before its plan is over; ``None`` for any other."""
    factor, spec = prepared.compare_factor, prepared.spec
    if factor is None or (spec.stop != "when-decided" and not spec.compare.look_at_cap):
        return None
    return Looks(
        prepared.plan,
        factor,
        prepared.factors[factor],
        declared_rules(spec, prepared.kind),
        earlier.look,
        only_at_cap=spec.compare.look_at_cap,
    )


class Looking:
    """Takes the ends of sessions in, and acts on what they come to."""

    def __init__(
        self,
        looks: Looks,
        metric: str,
        turn_limit: TurnLimit,
        record: Callable[[Looked], Awaitable[None]],
        remark: Callable[[str], None],
        utc: Callable[[], float],
    ) -> None:
        """``record`` makes a look durable; ``remark`` says what follows from it."""
        self.looks, self._metric, self._turn_limit = looks, metric, turn_limit
        self._record, self._remark, self._utc = record, remark, utc

    def take(self, news: SessionEnded) -> None:
        """A session of this life is over."""
        self._end(news.plan, news.ended, measured(self._metric, news.ended, self._turn_limit))

    def remember(self, plan: SessionPlan, past: Past) -> None:
        """A session of an earlier life was over."""
        self._end(plan, past, past.value)

    def _end(self, plan: SessionPlan, end: Ended | Past, value: float | None) -> None:
        outcome = judged_outcome(end.outcome, end.error_class, self._turn_limit)
        self.looks.ended(plan, counted_as(self._metric, outcome), value)

    async def look(self) -> None:
        """Make every look that is due."""
        looks = self.looks
        was_blocked = looks.blocked
        for look in looks.due(self._utc()):
            before = looks.newest
            await self._record(look)
            looks.made(look)
            for text in self._told(before, look):
                self._remark(text)
        if looks.blocked and not was_blocked:
            self._remark(
                f"round {looks.looked + 1} has a {looks.blocked}, so nothing more is decided early"
            )

    async def look_at_cap(self) -> Looked | None:
        """The one look of a plan that the cap has ended, made now or in an earlier life."""
        looks = self.looks
        if (look := looks.at_cap(self._utc())) is not None:
            await self._record(look)
            looks.made(look)
            when = f"looked at the cap, after round {look.rounds} of {looks.plan.rounds}"
            self._remark(f"{when}: {self._sentence()}")
        return looks.newest

    def _sentence(self) -> str:
        verdict, levels = self.looks.verdict, self.looks.levels
        assert verdict is not None
        metric, unit = name_of(self._metric), unit_of(self._metric, verdict.rules.score_bounds)
        return verdict_sentence(verdict, levels, metric, unit)

    def _told(self, before: Looked | None, look: Looked) -> list[str]:
        known = () if before is None else before.dropped
        told = [
            f"after round {look.rounds}: {one.level} is beaten by {one.by}"
            + (
                f" and gets no more sessions from round {one.from_round + 1} on"
                if one.from_round < self.looks.plan.rounds
                else ""
            )
            for one in look.dropped
            if one not in known
        ]
        if look.decided and self.looks.verdict is not None:
            when = f"decided after round {look.rounds} of {self.looks.plan.rounds}"
            told.append(f"{when}: {self._sentence()}")
        return told
