"""What a run's sessions are paired on: rounds, or the moments that they go on from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from matrix.report.text import plural
from matrix.store.run.run_folder import BranchedFrom, RunFile


@dataclass(frozen=True, slots=True)
class Pairing:
    """How sessions pair up.

    Attributes:
        unit: What one independent observation is called: ``round``, ``checkpoint`` or ``repeat``.
        units: How many of them are planned.
        column: Column of ``sessions`` that numbers them, from ``first``.
        strata: Further columns of ``sessions`` that pairs agree on -> their values, as text.
        factors: Factor -> levels that can be compared.
        basis: What the units are, in words that follow their number.
        scope: What a verdict is about, where its flags do not say it; may be empty.
        paired: Whether sessions of one unit belong together, whatever variant they are of.
        grouped: Whether no unit is in two variants, and sessions of one are averaged.
        moments: Of each value of ``column`` from ``first``, its unit and its number within that,
            both from 0, where several are of one unit; else empty.
    """

    unit: str
    units: int
    column: str
    first: int
    strata: Mapping[str, Sequence[str]]
    factors: Mapping[str, Sequence[str]]
    basis: str
    scope: str = ""
    paired: bool = True
    grouped: bool = False
    moments: Sequence[tuple[int, int]] = ()

    def place_of(self, number: int) -> tuple[int, int]:
        """The unit that a value of ``column`` is of, and which of its moments, both from 0."""
        at = number - self.first
        return self.moments[at] if self.moments else (at, 0)


MOMENT: Final = "moment"
"""What pairs agree on where several moments of one session are gone on from."""


def pairing_of(run: RunFile) -> Pairing:
    """How the sessions of this run pair up.

    In a branched run the unit is the session that a moment is of: its moments share a group and a
    story, so they are averaged, as their repeats are. Of a single moment, or of moments of a single
    session, nothing can be said but of these, and of these they are independent samples.
    """
    if run.imported:
        return _imported(run)
    branched = run.branched
    if branched is None or branched.mode == "rejudge":
        return Pairing(
            "round",
            run.plan.rounds,
            "round",
            0,
            {"scenario": run.plan.scenarios},
            run.plan.factors,
            "paired by round",
        )
    moments = len(branched.moments)
    if moments == 1:
        return Pairing(
            "repeat",
            branched.times,
            "repeat",
            1,
            {},
            branched.changes,
            "at one checkpoint, paired by repeat",
            "about this checkpoint, not others like it",
        )
    repeats = [str(number) for number in range(1, branched.times + 1)]
    sessions = list(dict.fromkeys(session for session, _ in branched.moments))
    if 1 < len(sessions) < moments:
        return _by_session(branched, sessions, repeats)
    return Pairing(
        "checkpoint",
        moments,
        "round",
        0,
        {"repeat": repeats},
        branched.changes,
        _averaged(branched),
        "about moments of this session, not of others" if len(sessions) == 1 else "",
    )


def _by_session(branched: BranchedFrom, sessions: Sequence[str], repeats: Sequence[str]) -> Pairing:
    """Moments of which several are of one session."""
    numbers = {session: number for number, session in enumerate(sessions)}
    seen = Counter[str]()
    places = []
    for session, _ in branched.moments:
        places.append((numbers[session], seen[session]))
        seen[session] += 1
    most = max(seen.values())
    times = "" if branched.times == 1 else f" and {plural(branched.times, 'repeat')}"
    return Pairing(
        "parent session",
        len(sessions),
        "round",
        0,
        {MOMENT: [str(number) for number in range(1, most + 1)], "repeat": repeats},
        branched.changes,
        f"each averaged over up to {plural(most, 'moment')}{times}, paired by moment and repeat",
        moments=tuple(places),
    )


def exported_kind(run: RunFile) -> str:
    """The kind of the run that results were exported from; empty where they were not."""
    exported = (run.spec.get("options") or {}).get("exported") if run.imported else None
    return str(exported.get("kind") or "") if isinstance(exported, dict) else ""


def _imported(run: RunFile) -> Pairing:
    """Of results that were made elsewhere: by the units of their files, or by nothing."""
    options = run.spec.get("options") or {}
    unit, repeats = str(options.get("unit") or ""), int(options.get("repeats") or 1)
    strata: dict[str, Sequence[str]] = {"scenario": run.plan.scenarios}
    grouped = bool(options.get("grouped"))
    paired = bool(unit) and not grouped
    basis = f"paired by {unit}" if paired else "not paired: nothing says which rows belong together"
    if grouped:
        basis = f"not paired: each {unit} counts once for its variant"
    if repeats > 1:
        strata["repeat"] = [str(number) for number in range(1, repeats + 1)]
        of = "row" if grouped else "repeat"
        basis = f"each averaged over up to {plural(repeats, of)}, {basis}"
    noun = "unit" if paired or grouped else "row"
    several = len(run.plan.scenarios) > 1
    scope = "" if several else f"about these {noun}s, and others that are chosen as they were"
    if alone := str(options.get("alone") or ""):
        scope = f"about these {alone} alone"
    return Pairing(
        noun,
        run.plan.rounds,
        "round",
        0,
        strata,
        run.plan.factors,
        basis,
        scope,
        paired=paired,
        grouped=grouped,
    )


def _averaged(branched: BranchedFrom) -> str:
    return f"each averaged over {plural(branched.times, 'repeat')}, paired by checkpoint and repeat"
