"""What a trajectory test came to: the rate of every assertion, held against the thresholds."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from matrix.kinds.reporting import (
    OF_RUN,
    EndedRun,
    EndedSession,
    Grid,
    GridCell,
    ReportedCase,
    RunReport,
    Spent,
    file_name,
)
from matrix.kinds.trajectory.settings import AGENT, JUDGE, TRAJECTORY, TrajectoryOptions
from matrix.kinds.trajectory.state import (
    CONTENT,
    FOLDER_AS_BEFORE,
    PASS,
    STRUCTURAL,
    TURN_ENDED,
    UNJUDGED,
)
from matrix.model.records import PLAYED
from matrix.stats.estimates.proportions import clopper_pearson_lower, clopper_pearson_upper

REPORTS: Final = Path("reports") / TRAJECTORY
"""Where in a project each run is written to."""


UNREACHED: Final = "UNREACHED"
"""An assertion of a run that ended before it."""

AS_PINNED: Final = "as_pinned"
"""The assertion that a final state has the shape of a pinned one."""

_HEADS: Final = {True: "ok", False: "MISSED", None: "OPEN"}
_UNPLAYED: Final = {"censored": "CENSORED", "": "NOT PLAYED"}
"""How a run is called that was cut short, as tables call it, or not begun; others errored."""
_STANDINGS: Final = {True: ("reached", 1.0), False: ("missed", 0.0), None: ("open", 0.5)}
"""How an assertion stands to its threshold, and how good that is: 4 of 5 may be either."""
_WORKDIRS: Final = "workdirs"
_WIDEST: Final = 150
_DEAREST: Final = 5
_ENOUGH_RUNS: Final = 2000
_MOST_COLUMNS: Final = 30
_ONE_SIDE: Final = 0.025
"""Error rate of each end of a two-sided 95 % interval."""


class Rate(NamedTuple):
    """One assertion over the runs of one scenario and variant.

    Attributes:
        passed: Runs in which it holds.
        runs: Runs that were played to their end, or failed by the agent's own fault.
        judged: Those of them with a verdict.
    """

    scenario: str
    variant: str
    id: str
    layer: str
    words: tuple[str, ...]
    whys: tuple[str, ...]
    threshold: float

    @property
    def runs(self) -> int:
        return len(self.words)

    @property
    def passed(self) -> int:
        return self.words.count(PASS)

    @property
    def unjudged(self) -> int:
        return self.words.count(UNJUDGED)

    @property
    def holds(self) -> bool | None:
        """Whether the rate is reached; ``None`` if judges that failed leave it open."""
        needed = self.threshold * self.runs - 1e-9
        if self.passed >= needed:
            return True
        return None if self.passed + self.unjudged >= needed else False

    @property
    def by_failed_turns(self) -> bool:
        """Whether it was missed only where the agent did not come to the end of the turn."""
        lost = [why for word, why in zip(self.words, self.whys, strict=True) if word != PASS]
        return all(why.endswith(FOLDER_AS_BEFORE) for why in lost)

    @property
    def flaky(self) -> float:
        """How far from being the same in every run: 1 at half of them, 0 at all or none."""
        share = self.passed / self.runs
        return 1 - abs(2 * share - 1)


def report_of(run: EndedRun) -> RunReport:
    """The files about a run, and what is said after its summary."""
    options = TrajectoryOptions.model_validate(dict(run.options))
    sessions = [_session(one, judged_again=run.judged_again) for one in run.sessions]
    rates = [*_rates(sessions)]
    unplayed = [one for one in sessions if one["outcome"] in ("", "errored", "censored")]
    lost = [one for one in rates if one.holds is False]
    open_ = [one for one in rates if one.holds is None]
    data = {
        "run_id": run.run_id,
        "simulated": bool(run.simulated),
        "timestamp": _time(run.began_at),
        "summary": {
            "assertions": len(rates),
            "reached": len(rates) - len(lost) - len(open_),
            "missed": len(lost),
            "open": len(open_),
            "runs": len(sessions) - len(unplayed),
            "runs_not_played": len(unplayed),
        },
        "judge": dict(run.judge),
        "assertions": [_rate_data(one) for one in rates],
        "runs": sessions,
    }
    name, files = f"{REPORTS}/{run.run_id}.json", dict[str, str]()
    if options.json_results:
        files |= _each(run, sessions)
    spent = run.spent()
    data["spent"] = [one._asdict() for one in spent]
    lines = [*_lines(sessions, rates, unplayed, options), *_costs(spent)]
    lines += [f"({run.simulated})"] if run.simulated else []
    files[name] = _json(data)
    if not rates and not unplayed:
        lines.append("no assertion was looked at" if sessions else "no run has ended yet")
    lines.append(f"every assertion of every run is in {name}")
    folders = _folders(sessions) if options.keep_workdir else {}
    if folders:
        lines.append(f"working folders are in {_WORKDIRS} of the run's folder")
    return RunReport(
        files,
        tuple(lines),
        len(lost) + len(open_) + len(unplayed),
        data,
        folders,
        *_pins(sessions),
        grids=tuple(_grids(rates, sessions)),
        cases=tuple(_cases(rates, sessions, unplayed)),
        verdict=tuple(_verdict(rates, unplayed)),
    )


def _verdict(rates: Sequence[Rate], unplayed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many assertions reach their thresholds, and what so many runs support."""
    if rates:
        reached = sum(one.holds is True for one in rates)
        missed = sum(one.holds is False for one in rates)
        left = [
            f"{count} {word}"
            for count, word in (
                (missed, "missed"),
                (len(rates) - reached - missed, "left open by judges that failed"),
                (len(unplayed), "runs not played to their end"),
            )
            if count
        ]
        layers = [(layer, _reached(rates, layer)) for layer in (STRUCTURAL, CONTENT)]
        told = ", ".join(f"{layer} {text}" for layer, text in layers if text[:1].isdigit())
        head = f"{reached} of {len(rates)} assertions reach the pass rate that they need"
        yield "; ".join([f"{head} ({told})", *left]) + "."
        if (runs := max(one.runs for one in rates)) < _ENOUGH_RUNS:
            yield f"{_supported(rates, runs)}."


_TURN: Final = re.compile(r"t([0-9]{1,4})\.")


def _turn_of(assertion: str, word: str, turns: int) -> int | None:
    """The turn that an assertion is about, if it was played; of the final state the last."""
    if word == UNREACHED:
        return None
    found = _TURN.match(assertion)
    return turns if found is None else int(found[1])


def _grids(rates: Sequence[Rate], sessions: Sequence[Mapping[str, Any]]) -> Iterator[Grid]:
    """A grid of each scenario and variant: an assertion a row, a run a column."""
    for scenario, variant in dict.fromkeys((one.scenario, one.variant) for one in rates):
        own = [one for one in rates if (one.scenario, one.variant) == (scenario, variant)]
        runs = [
            one
            for one in sessions
            if (one["scenario"], _variant(one["levels"])) == (scenario, variant)
            and one["outcome"] in PLAYED
        ]
        shown, title = [*range(len(runs))], _where(scenario, variant)
        if len(runs) > _MOST_COLUMNS:
            held = [sum(one.words[at] == PASS for one in own) for at in shown]
            shown = sorted(shown, key=lambda at: held[at])[:_MOST_COLUMNS]
            title += f": {_MOST_COLUMNS} of {len(runs)} runs, those that missed most first"
        rows = [
            (
                one.id,
                (
                    GridCell(*_STANDINGS[one.holds]),
                    GridCell(f"{one.passed} of {one.runs}", _STANDINGS[one.holds][1]),
                    GridCell(f"{one.threshold:g}"),
                    *(_cell(one, at, runs[at]) for at in shown),
                ),
            )
            for one in sorted(own, key=lambda one: (one.holds is True, -one.flaky, one.id))
        ]
        columns = ("result", "passed", "threshold", *(f"run {runs[at]['run']}" for at in shown))
        yield Grid(title, columns, tuple(rows))


def _cell(rate: Rate, at: int, run: Mapping[str, Any]) -> GridCell:
    """What an assertion came to in one run."""
    word = rate.words[at]
    turn = _turn_of(rate.id, word, run["turns"])
    return GridCell(word, float(word == PASS), run["session_id"], turn)


def _cases(
    rates: Sequence[Rate],
    sessions: Sequence[Mapping[str, Any]],
    unplayed: Sequence[Mapping[str, Any]],
) -> Iterator[ReportedCase]:
    words = {True: "passed", False: "failed", None: "error"}
    for one in rates:
        group = _where(one.scenario, one.variant)
        told = f"{one.passed} of {one.runs} runs, threshold {one.threshold:g}"
        lost = next((w for word, w in zip(one.words, one.whys, strict=True) if word != PASS), "")
        yield ReportedCase(group, one.id, words[one.holds], f"{told}; {lost}" if lost else told)
    looked_at = {one.scenario for one in rates}
    for session in sessions:
        if rates and session["outcome"] in PLAYED and session["scenario"] not in looked_at:
            told = "no assertion was looked at, so there is nothing that it passed"
            yield ReportedCase(session["scenario"], _place(session), "skipped", told)
    for session in unplayed:
        why = session["reason"] or "was not played to its end"
        yield ReportedCase(session["scenario"], _place(session), "error", why)


def _folders(sessions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Session -> what its working folder is called."""
    names = _file_names(sessions)
    return {one["session_id"]: names[one["session_id"]] for one in sessions if one["turns"]}


def _file_names(sessions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Session -> what its files are called: by scenario, levels and run, where that tells it."""
    told = {
        one["session_id"]: "-".join([one["scenario"], *one["levels"].values(), str(one["run"])])
        for one in sessions
    }
    of_several = {text for text, count in Counter(told.values()).items() if count > 1}
    return {
        session: file_name(f"{text}-{session[:8]}" if text in of_several else text)
        for session, text in told.items()
    }


def _pins(
    sessions: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Scenario -> the shape in which most runs ended without a failure, the first of equals.

    A scenario has one pin: where variants end in different shapes, there is none for all.

    Returns:
        The shapes; why a scenario has none; and of which runs they are, where runs differ.
    """
    ended: dict[str, dict[str, list[tuple[str, int]]]] = {}
    for one in sessions:
        own = ended.setdefault(one["scenario"], {})
        whole = one["final"] and one["pin"] is not None
        # a state that was held against a pin, and differs in nothing else, is a good one as well
        words = [r["word"] for r in one["results"] if r["name"] != AS_PINNED]
        if whole and words and set(words) == {PASS}:
            shape = (_json(one["pin"]), one["run"])
            own.setdefault(_variant(one["levels"]), []).append(shape)
    pins, why, whose = dict[str, str](), dict[str, str](), dict[str, str]()
    for scenario, own in ended.items():
        counts = {name: Counter(shape for shape, _ in shapes) for name, shapes in own.items()}
        common = {found.most_common(1)[0][0] for found in counts.values()}
        if len(common) == 1:
            (pins[scenario],) = common
            alike = sum(found[pins[scenario]] for found in counts.values())
            if alike < (whole := sum(found.total() for found in counts.values())):
                first = min(n for shapes in own.values() for shape, n in shapes if shape in common)
                whose[scenario] = (
                    f"runs ended in different shapes; this is that of {alike} of {whole} without a "
                    f"failure, run {first} among them"
                )
        elif own:
            names = " and ".join(sorted(own))
            why[scenario] = f"{names} ended in different shapes; pin a run of one of them"
        else:
            why[scenario] = "no run of it came to its final state without a failure"
    return pins, why, whose


def _session(session: EndedSession, *, judged_again: bool) -> dict[str, Any]:
    said = [orjson.loads(text) for text in session.reported]
    whole = next((one for one in reversed(said) if "results" in one and "turn" not in one), None)
    begun: Mapping[str, Any] = next((one for one in said if "begun" in one), {})
    turns = [one for one in said if "turn" in one]
    results = [r for one in turns for r in one["results"]] if whole is None else whole["results"]
    return {
        "scenario": session.scenario,
        "run": session.round + 1,
        "levels": dict(session.levels),
        "session_id": session.session_id,
        "outcome": session.outcome,
        "reason": session.reason,
        "inputs": begun.get("inputs", ""),
        "layers": begun.get("layers", {}),
        "turns": len(turns),
        "inherited": 0 if judged_again else session.parent_turn,
        "final": bool(whole and whole["final"]),
        "thresholds": begun.get("thresholds") or (whole or {}).get("thresholds"),
        "results": results,
        "pin": next((one["pin"] for one in reversed(said) if "pin" in one), None),
    }


def _variant(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _rates(sessions: Sequence[Mapping[str, Any]]) -> Iterator[Rate]:
    """Every assertion of a scenario; runs that ended before it, for whatever reason, miss it."""
    expected: dict[str, dict[str, str]] = {}
    for one in sessions:
        expected.setdefault(one["scenario"], {}).update(one["layers"])
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in sessions:
        if one["outcome"] in PLAYED:
            groups.setdefault((one["scenario"], _variant(one["levels"])), []).append(one)
    order = list(expected)
    for (scenario, variant), runs in sorted(
        groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
    ):
        given: Mapping[str, float] = next((o["thresholds"] for o in runs if o["thresholds"]), {})
        layers = dict(expected[scenario])
        for one in runs:
            layers |= {result["id"]: result["layer"] for result in one["results"]}
        for name, layer in layers.items():
            found = [_of(one, name) for one in runs]
            yield Rate(
                scenario,
                variant,
                name,
                layer,
                tuple(word for word, _ in found),
                tuple(why for _, why in found),
                float(given.get(layer, 1.0 if layer == STRUCTURAL else 0.8)),
            )


def _of(session: Mapping[str, Any], name: str) -> tuple[str, str]:
    for result in session["results"]:
        if result["id"] == name:
            return result["word"] or UNREACHED, result["why"]
    turn, _, what = name.partition(".")
    if what == TURN_ENDED and int(turn.removeprefix("t")) <= session["turns"]:
        return PASS, ""  # only turns that did not end have a result of it
    return UNREACHED, session["reason"] or "the run ended before it"


def _rate_data(one: Rate) -> dict[str, Any]:
    return {
        "scenario": one.scenario,
        "variant": one.variant,
        "assertion": one.id,
        "layer": one.layer,
        "passed": one.passed,
        "runs": one.runs,
        "rate": one.passed / one.runs,
        "interval": [_low(one.passed, one.runs), _high(one.passed, one.runs)],
        "threshold": one.threshold,
        "reached": one.holds,
        "words": dict(Counter(one.words)),
    }


def _lines(
    sessions: Sequence[Mapping[str, Any]],
    rates: Sequence[Rate],
    unplayed: Sequence[Mapping[str, Any]],
    options: TrajectoryOptions,
) -> Iterator[str]:
    yield from _suite(rates)
    missed = [one for one in rates if one.passed < one.runs]
    by_turn = [one for one in missed if one.by_failed_turns]
    causes = [one for one in missed if one.id.endswith(f".{TURN_ENDED}")]
    for rate in sorted(causes, key=lambda one: (one.holds is True, one.scenario, one.id)):
        yield from _lost(rate)
    for rate in sorted(missed, key=lambda one: (one.holds is True, -one.flaky, one.id)):
        if rate not in causes and rate not in by_turn:
            yield from _lost(rate)
    yield from _with_failed_turns(by_turn)
    for one in unplayed:
        told = one["reason"] or "was not played to its end"
        yield f"{_UNPLAYED.get(one['outcome'], 'ERROR')} {_place(one)}: {_line(told)}"
    for one in sessions:
        if one["outcome"] == "failed":
            yield f"FAILED {_place(one)}: {_line(one['reason'])}"
    over = [one for one in sessions if one["outcome"] == "completed"]
    finals = {one["scenario"] for one in over if one["final"]}
    if options.stop_after_turn and (cut := sorted({one["scenario"] for one in over} - finals)):
        told = f"ended after turn {options.stop_after_turn}, as asked: no final state was judged"
        yield told + (f" of {', '.join(cut)}" if finals else "")
    if before := max((one["inherited"] for one in over), default=0):
        turns = "turn 1 was" if before == 1 else f"turns up to {before} were"
        yield (
            f"{turns} played in the run that this goes on from: what structural assertions missed "
            "there counts here, and judges were asked anew"
        )
    if parts := [r for one in sessions for r in one["results"] if r.get("part")]:
        told = (
            f"{len(parts)} judgement{'s were' if len(parts) > 1 else ' was'} about files shown in"
        )
        yield f"{told} part, such as {parts[0]['id']} ({parts[0]['part']}); options.judged_chars"
    yield from _vacuous(rates, sessions)
    if options.skip_content:
        yield "no judge was asked: structural assertions only"
    if rates and (runs := max(one.runs for one in rates)) < _ENOUGH_RUNS:
        yield _supported(rates, runs)


def _vacuous(rates: Sequence[Rate], sessions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Assertions that held though there was nothing to look at, or it was unread.

    Where that was so in some runs only, it is told in how many.
    """
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for session in sessions:
        for one in session["results"] if session["outcome"] in PLAYED else ():
            place = session["scenario"], _variant(session["levels"]), one["id"]
            found.setdefault(place, []).append(one)
    always, partly = list[str](), list[str]()
    for rate in rates:
        results = found.get((rate.scenario, rate.variant, rate.id), [])
        empty = [one for one in results if one.get("vacuous")]
        if not empty:
            continue
        whole = len(empty) == len(results)
        share = "" if whole else f" in {len(empty)} of {rate.runs} runs"
        why = ", ".join(filter(None, [rate.variant, _line(empty[0]["why"])]))
        (always if whole else partly).append(f"{rate.scenario} {rate.id}{share} ({why})")
    for told, where in ((always, "every run"), (partly, "some runs")):
        if told:
            more = f"; and {len(told) - _DEAREST} more" if len(told) > _DEAREST else ""
            head = f"passed with nothing to look at, or with some of it not read, in {where}"
            yield f"{head}: {'; '.join(told[:_DEAREST])}{more}"


def _suite(rates: Sequence[Rate]) -> Iterator[str]:
    """A table of scenarios: how many assertions of each layer reached their threshold."""
    rows = [["scenario", "runs", "structural", "content"]]
    for scenario, variant in dict.fromkeys((one.scenario, one.variant) for one in rates):
        own = [one for one in rates if (one.scenario, one.variant) == (scenario, variant)]
        name = f"{scenario} ({variant})" if variant else scenario
        rows.append(
            [
                name,
                str(max(one.runs for one in own)),
                *(_reached(own, layer) for layer in (STRUCTURAL, CONTENT)),
            ]
        )
    if len(rows) == 1:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _reached(rates: Sequence[Rate], layer: str) -> str:
    own = [one for one in rates if one.layer == layer]
    if not own:
        return "-"
    reached = sum(one.holds is True for one in own)
    return f"{reached} of {len(own)} at {_thresholds(own)}"


def _thresholds(rates: Sequence[Rate]) -> str:
    """What assertions are held against: one threshold, or from which to which."""
    least, most = min(one.threshold for one in rates), max(one.threshold for one in rates)
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"


def _with_failed_turns(rates: Sequence[Rate]) -> Iterator[str]:
    """A line of each scenario and variant for what was missed with turns that failed."""
    for key in dict.fromkeys((one.scenario, one.variant, one.holds) for one in rates):
        own = [one for one in rates if (one.scenario, one.variant, one.holds) == key]
        scenario, variant, holds = key
        named = ", ".join(
            f"{one.id} {one.passed} of {one.runs}" if one.runs > 1 else one.id for one in own
        )
        yield f"{_HEADS[holds]} {_where(scenario, variant)}, where turns failed (above): {named}"


def _where(place: str, variant: str) -> str:
    return f"{place} ({variant})" if variant else place


def _lost(one: Rate) -> Iterator[str]:
    words = Counter(word for word in one.words if word != PASS)
    told = ", ".join(f"{count} {word}" if one.runs > 1 else word for word, count in words.items())
    where = _where(f"{one.scenario} {one.id}", one.variant)
    head = _HEADS[one.holds]
    rate = f"{one.passed} of {one.runs} runs, threshold {one.threshold:g}; " if one.runs > 1 else ""
    why = next(why for word, why in zip(one.words, one.whys, strict=True) if word != PASS)
    yield f"{head} {where}: {rate}{told}"
    if why:
        yield f"  {_line(why)}"


def _supported(rates: Sequence[Rate], runs: int) -> str:
    """What so many runs can tell apart, beside the plain rule that decides."""
    least = next(n for n in range(1, _ENOUGH_RUNS) if _low(n, n) >= 0.8)
    told = f"{runs} of {runs} runs" if runs > 1 else "1 run"
    enough = [one for one in rates if one.holds and 0 < one.passed < one.runs]
    fewest = min(enough, key=lambda one: (one.passed / one.runs, -one.threshold), default=None)
    also = ""
    if fewest is not None:
        alike = all(one.threshold == fewest.threshold for one in rates)
        where = "here" if alike else f"where the threshold is {fewest.threshold:g}"
        rate = f"{fewest.passed} of {fewest.runs}"
        also = f", {rate}, which is enough {where}, from {_floor(_low(fewest.passed, fewest.runs))}"
    return (
        f"what this supports: {told} may come from a true rate as low as {_floor(_low(runs, runs))}"
        f"{also} (95 % interval); for at least 80 % it takes {least} runs without a miss"
    )


def _floor(share: float) -> str:
    """A lower end in whole per cent, never above itself."""
    return f"{math.floor(100 * share + 1e-9)} %"


def _low(passed: int, runs: int) -> float:
    """The lower end of the exact 95 % interval of a rate: what a mean beside it is told with."""
    return clopper_pearson_lower(passed, runs, _ONE_SIDE)


def _high(passed: int, runs: int) -> float:
    return clopper_pearson_upper(passed, runs, _ONE_SIDE)


def _costs(spent: Sequence[Spent]) -> Iterator[str]:
    """What turns and judges cost: the dearest of each, by which it can be seen what to cut."""
    for role, what in ((AGENT, "turns"), (JUDGE, "judges, by rubric")):
        own: dict[str, list[Spent]] = {}
        for one in spent:
            if one.role == role:
                name = one.tag if role == JUDGE else f"{one.scenario} turn {one.turn}"
                own.setdefault(name or "-", []).append(one)
        total = sum(one.usd for ones in own.values() for one in ones)
        if not total:
            continue
        dearest = sorted(own.items(), key=lambda item: -sum(one.usd for one in item[1]))
        shown = _DEAREST if len(own) > _DEAREST + 1 else len(own)  # "1 more" is as long as it is
        told = ", ".join(
            f"{_line(name)} ${sum(one.usd for one in ones):.4f}" for name, ones in dearest[:shown]
        )
        more = f", and {len(own) - shown} more" if len(own) > shown else ""
        yield f"cost of {what}: ${total:.4f}; {told}{more}"


def _place(session: Mapping[str, Any]) -> str:
    told = _variant(session["levels"])
    return f"{session['scenario']}{f' ({told})' if told else ''}, run {session['run']}"


def _line(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= _WIDEST else plain[:_WIDEST] + " ..."


def _each(run: EndedRun, sessions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A file for every run of a scenario: ``<date>-<scenario>-<run>.json``."""
    day, found = f"{datetime.fromtimestamp(run.began_at, UTC):%Y-%m-%d}", dict[str, str]()
    names = _file_names(sessions)
    for one in sessions:
        name = f"{day}-{names[one['session_id']]}.json"
        found[f"{OF_RUN}/json/{name}"] = _json({"run_id": run.run_id, **one})
    return found


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
