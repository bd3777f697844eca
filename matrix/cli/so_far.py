"""What is shown of a run while it goes on: one value, made of its progress alone, and its line.

Every text in it is one line and drives no terminal; names and errors of strangers are among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from matrix.model.lines import in_line
from matrix.model.money import show_usd
from matrix.report.text import duration, one_line, score_digits, with_interval

if TYPE_CHECKING:
    from matrix.engine.run.progress import FailedSoFar, Progress, VariantSoFar

Scale = tuple[float, float] | None
"""Lowest and highest possible score, where there are such."""

OLD_S: Final = 5.0
"""Age from which the oldest call in flight is told: below, other figures show that all moves."""


class SoFarFact(NamedTuple):
    """A labelled line."""

    label: str
    text: str


class SoFarVariant(NamedTuple):
    """A variant: its name, sessions scored of those planned, mean score, its interval."""

    name: str
    scored: str
    mean: str
    interval: str


@dataclass(frozen=True, slots=True)
class SoFar:
    """A run as it is shown.

    Attributes:
        state: ``running``, ``stopping`` or ``played``.
        elapsed: How long it has gone on.
        eta: How much longer it will take; empty while nobody can say.
        ended: Sessions with an outcome.
        to_play: Planned sessions that are not needless.
        facts: Sessions, calls, money, retries, and the newest failure if there is one.
        heading: What the variants' scores are, and are not.
        variants: In the order of the spec.
    """

    state: str
    elapsed: str
    eta: str
    ended: int
    to_play: int
    facts: tuple[SoFarFact, ...]
    heading: str
    variants: tuple[SoFarVariant, ...]


def so_far(progress: Progress, scale: Scale = None, *, later_s: float = 0.0) -> SoFar:
    """The run as it is shown, ``later_s`` seconds after its progress was taken."""
    digits = score_digits(scale)
    played = progress.ended == progress.to_play
    return SoFar(
        state="stopping" if progress.draining else "played" if played else "running",
        elapsed=duration(progress.elapsed_s + later_s),
        eta=_eta(progress),
        ended=progress.ended,
        to_play=progress.to_play,
        facts=tuple(_facts(progress, later_s)),
        heading=_heading(progress),
        variants=tuple(_row(variant, scale, digits) for variant in progress.variants),
    )


def progress_line(progress: Progress) -> str:
    """The run in one line."""
    balance, counters = progress.picture.balance, progress.counters
    parts = [
        f"{progress.ended:,}/{progress.to_play:,} sessions{_needless(progress)}",
        f"{progress.open:,} open",
        *(
            f"{count:,} {outcome}"
            for outcome, count in progress.outcomes.items()
            if count and outcome != "completed"
        ),
        f"{counters.turns:,} turns",
        per_time(progress.calls_per_s, "calls"),
        f"spent {show_usd(balance.charged)} + held {show_usd(balance.held)} "
        f"of {show_usd(balance.cap)}",
    ]
    if told := progress.waits_for:
        parts.insert(-1, f"waiting for {told}")
    elif age := _age(progress):
        parts.insert(-1, f"{counters.in_flight:,} calls in flight{age}")
    if counters.retries:
        parts.append(_retries(progress))
    if progress.failed is not None:
        parts.append(f"newest failure: {_failure(progress.failed)}")
    if eta := _eta(progress):
        parts.append(eta)
    return f"[{duration(progress.elapsed_s)}] " + "; ".join(parts)


def per_time(per_s: float, what: str) -> str:
    """A rate in the unit in which it is no zero: ``4,823 calls/s``, ``0.4 calls/s``."""
    if per_s >= 9.95 or per_s <= 0:
        return f"{per_s:,.0f} {what}/s"
    if per_s >= 0.095:
        return f"{per_s:.1f} {what}/s"
    return f"{per_s * 60:.1f} {what}/min"


def _facts(progress: Progress, later_s: float) -> list[SoFarFact]:
    balance, counters = progress.picture.balance, progress.counters
    outcomes = ", ".join(f"{n:,} {name}" for name, n in progress.outcomes.items() if n) or "none"
    gone = f" ({balance.charged / balance.cap:.0%})" if balance.cap else ""
    facts = [
        SoFarFact(
            "sessions",
            f"{progress.ended:,} of {progress.to_play:,} ended ({outcomes}), "
            f"{progress.open:,} open{_needless(progress)}",
        ),
        SoFarFact(
            "calls",
            f"{counters.answered:,} answered, {per_time(progress.calls_per_s, 'calls')}, "
            f"{counters.in_flight:,} in flight{_age(progress, later_s)}, "
            f"{counters.waiting:,} waiting; {counters.turns:,} turns",
        ),
        SoFarFact(
            "money",
            f"{show_usd(balance.charged)} spent{gone} + {show_usd(balance.held)} held "
            f"of a cap of {show_usd(balance.cap)}",
        ),
        SoFarFact("trouble", _retries(progress)),
    ]
    if told := progress.waits_for:
        facts.append(SoFarFact("waits for", told))
    if progress.failed is not None:
        facts.append(SoFarFact("failure", f"newest: {_failure(progress.failed)}"))
    return facts


def _age(progress: Progress, later_s: float = 0.0) -> str:
    """How long the oldest call has been in flight, if it is long: what is slow may still move."""
    counters = progress.counters
    old = counters.oldest_s + later_s
    if not counters.in_flight or old < OLD_S:
        return ""
    return f" (the oldest for {duration(old)})"


def _retries(progress: Progress) -> str:
    """Rate-limit errors and retries; of the newest, who was asked and what went wrong."""
    counters = progress.counters
    newest = f" (newest: {in_line(counters.trouble)})" if counters.trouble else ""
    return f"{counters.rate_limited:,} 429s, {counters.retries:,} retries{newest}"


def _failure(failed: FailedSoFar) -> str:
    """Which session it was, and its error."""
    what = in_line(failed.error_class or failed.outcome)
    reason = f": {one_line(failed.reason)}" if failed.reason else ""
    return f"session {in_line(failed.session_id)}, {what}{reason}"


def _eta(progress: Progress) -> str:
    """``ETA 40 s``, or nothing while there is no basis for it, nothing left, or an early end."""
    if progress.eta_s is None or progress.draining:
        return ""
    return f"ETA {duration(progress.eta_s)}"


def _needless(progress: Progress) -> str:
    """What looks at the scores have left out of the plan, if anything."""
    return f" ({progress.unplayed:,} of {progress.planned:,} not needed)" * bool(progress.unplayed)


def _heading(progress: Progress) -> str:
    """What stands above the variants."""
    if not progress.variants:
        return ""
    if not progress.looks:
        return "so far (no verdict before the end):"
    newest = f"; newest look after round {progress.looked}" if progress.looked else ""
    return f"so far (looked at after every round{newest}):"


def _row(variant: VariantSoFar, scale: Scale, digits: int) -> SoFarVariant:
    low, high = _within(scale, variant.low, variant.high)
    return SoFarVariant(
        in_line(variant.level),
        f"{variant.n:,} of {variant.planned:,}",
        *with_interval(variant.mean, low, high, digits),
    )


def _within(
    scale: Scale, low: float | None, high: float | None
) -> tuple[float | None, float | None]:
    """An interval of a mean, cut off where no score can lie."""
    if scale is None or low is None or high is None:
        return low, high
    return max(low, scale[0]), min(high, scale[1])
