"""Rate limits: how much of what a server allows is asked, and how often it says no.

One run plays against three servers at once, each with limits of its own that the run's spec knows:
requests per minute; tokens per minute; requests per minute that two models share.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from benchmarks.figures import Section
from benchmarks.served import Rehearsal, Rehearsed, ServedModel, rehearse
from benchmarks.sizes import Sizes
from matrix.serving.options import ServeOptions
from matrix.store.reading.reader import RunTables

RPM: Final = 600
BURST: Final = 10
"""Requests that a server takes at once; its token bucket holds as many seconds of refill."""

_TOKENS_PER_CALL: Final = 45
"""About what a call of the counter kind uses with the model ``echo``."""
_LATENCY_MS: Final = 50.0
_TURNS: Final = 8
_AMPLE_RPM: Final = 60_000
_PROCESSES: Final = (1, 2, 4)
_COUNTED: Final = 0.95
"""Share of the answers, from the first, over which the rate is taken: later too few sessions are
left to keep asking."""


class _Limit(NamedTuple):
    """A limit: its server, its group in the spec, and calls per second that it allows."""

    name: str
    serve: ServeOptions
    group: dict[str, float]
    models: int
    per_s: float


_TPM: Final = RPM * _TOKENS_PER_CALL
LIMITS: Final = (
    _Limit("rpm", ServeOptions(rpm=RPM, burst=BURST), {"rpm": RPM}, 1, RPM / 60),
    _Limit(
        "tpm",
        ServeOptions(rpm=_AMPLE_RPM, burst=_AMPLE_RPM / 60, tpm=_TPM),
        {"tpm": _TPM},
        1,
        RPM / 60,
    ),
    _Limit("shared", ServeOptions(rpm=2 * RPM, burst=2 * BURST), {"rpm": 2 * RPM}, 2, RPM / 30),
)


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section, for one, two and four provider processes."""
    for processes in _PROCESSES:
        what = _rehearsal(sizes.limit_seconds, processes)
        found = rehearse(sizes.folder, f"limits-{processes}", what)
        for index, limit in enumerate(LIMITS):
            _report(limit, processes, found, found.stats[index], section)
    section.note(
        f"servers: {RPM} requests/min with a burst of {BURST}; {_TPM:,} tokens/min with a burst of "
        f"one second; {2 * RPM} requests/min with a burst of {2 * BURST}, shared by two models."
    )
    section.note(
        "allowed: one burst, and the rate from the first answer on; made: answered calls, by the "
        "journal (tokens: as the server counts them), until a twentieth of them was left."
    )


def _rehearsal(seconds: int, processes: int) -> Rehearsal:
    models = [
        ServedModel(f"{limit.name}-{number}", index, limit.name)
        for index, limit in enumerate(LIMITS)
        for number in range(limit.models)
    ]
    rounds = max(2, round(seconds * RPM / 60 / _TURNS))
    return Rehearsal(
        servers=[limit.serve.model_copy(update={"latency_ms": _LATENCY_MS}) for limit in LIMITS],
        models=models,
        groups={limit.name: limit.group for limit in LIMITS},
        sessions=rounds * len(models),
        options={"turns": _TURNS},
        processes=processes,
    )


def _report(
    limit: _Limit, processes: int, found: Rehearsed, stats: dict[str, Any], section: Section
) -> None:
    name = f"{limit.name}, {processes} processes" if processes > 1 else f"{limit.name}, 1 process"
    answered = _answered(found, limit.name)
    counted = answered[: int(len(answered) * _COUNTED)]
    spent_s = counted[-1] - counted[0]
    if limit.group.get("tpm"):
        each = (stats["tokens_in"] + stats["tokens_out"]) / stats["accepted"]
        per_s, burst = _TPM / 60 / each, BURST / (RPM / 60) * _TPM / 60 / each
    else:
        per_s, burst = limit.per_s, float(limit.serve.burst or 0)
    allowed = burst + per_s * spent_s
    share = 100 * len(counted) / allowed
    how = f"{len(counted)} of {allowed:.0f} calls in {spent_s:.0f} s; {found.played.command}"
    section.add(f"{name}: made, of what was allowed", share, "%", how, ">= 95")
    refused = 100 * stats["rate_limited"] / stats["requests"]
    how = f"{stats['rate_limited']} of {stats['requests']} requests"
    section.add(f"{name}: answered 429", refused, "%", how, "< 0.5")


def _answered(found: Rehearsed, group: str) -> list[float]:
    """When the calls of one limit's models were answered, in UTC seconds, sorted."""
    calls = RunTables(found.played.run_dir).table("calls", ["model", "answered", "settled_at"])
    return sorted(
        call["settled_at"].timestamp()
        for call in calls.to_pylist()
        if call["answered"] and call["model"].startswith(group)
    )
