"""What a run came to, chapter by chapter: the verdict first, then all that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matrix.kinds.reporting import Grid
from matrix.model.money import to_usd
from matrix.report.page.blocks import (
    Block,
    Chapter,
    DataTable,
    Facts,
    Lines,
    Page,
    Prose,
    TableCell,
    anchor_of,
    shade,
)
from matrix.report.page.failures import (
    examples_of,
    explained_of,
    failures_of,
    looked_at_of,
    to_look_at_of,
)
from matrix.report.page.grouped import groups_of, issues_of, listed_in
from matrix.report.page.known import RunFacts, opening_of
from matrix.report.page.scores import noise_of, scenarios_of, variants_of
from matrix.report.page.spending import money_of
from matrix.report.page.transcripts import picked, shown_sessions, sizes_of
from matrix.report.run.summary_text import head_line, labelled_facts
from matrix.report.study.study_text import verdict_facts
from matrix.report.text import noted, number
from matrix.store.reading.reader import RunTables


def page_of(run: RunFacts, *, transcripts: bool = True) -> Page:
    """The whole page, or one without what was said."""
    frame = run.tables.frame("sessions")
    chosen = _wanted(run, frame) if transcripts else []
    file = run.summary.run
    chapters = [
        Chapter("verdict", "Verdict", list(_verdict(run))),
        Chapter("variants", "Variants", list(variants_of(run, frame))),
        Chapter("scenarios", "Scenarios", list(scenarios_of(run, frame))),
        Chapter("checks", "What was checked", list(_of_kind(run, set(chosen)))),
        Chapter("failures", "What went wrong", list(failures_of(run, frame, set(chosen)))),
        Chapter("issues", "Issues", list(issues_of(run, set(chosen)))),
        Chapter("explained", "What a model makes of it", list(explained_of(run, set(chosen)))),
        Chapter("look", "Sessions to look at", list(to_look_at_of(run, frame, set(chosen)))),
        Chapter("judges", "Judges", list(_judges(run))),
        Chapter("money", "Money", list(money_of(run))),
        Chapter("noise", "Noise", list(noise_of(run))),
        Chapter("groups", "Averages and ranks", list(groups_of(run, set(chosen)))),
        Chapter("run", "The run", list(_run(run))),
        Chapter("transcripts", "Transcripts", list(_transcripts(run, frame, chosen))),
    ]
    began = f"{file.created_at:%Y-%m-%d %H:%M} UTC"
    subtitle = f"{head_line(run.summary)}; {file.kind}; started {began}{noted(file.simulation)}"
    return Page(file.name, subtitle, [one for one in chapters if one.blocks])


def page_of_session(tables: RunTables, session_id: str) -> Page:
    """A page of one session: how it ended, and all that was said in it."""
    (shown,) = shown_sessions(tables, tables.frame("sessions"), [session_id])
    scores = tables.frame("scores", ["session_id", "turn", "name", "value", "reason"])
    own = scores[(scores["session_id"] == session_id) & scores["turn"].isna()]
    rows = [
        [
            TableCell(str(name)),
            TableCell("-" if value != value or value is None else number(float(value), 3)),
            TableCell(reason if isinstance(reason, str) else ""),
        ]
        for name, value, reason in zip(own["name"], own["value"], own["reason"], strict=True)
    ]
    blocks: list[Block] = [Facts(shown.facts)]
    blocks += [DataTable("Scores", ["score", "value", "reason"], rows, (1,))] if rows else []
    chapters = [
        Chapter("session", "Session", blocks),
        Chapter("transcript", "Transcript", [shown]),
    ]
    subtitle = f"a session of run {tables.run.run_id}{noted(tables.run.simulation)}"
    return Page(shown.title, subtitle, chapters)


def _verdict(run: RunFacts) -> Iterator[Block]:
    summary, study = run.summary, run.study
    first, *others = opening_of(run)
    yield Prose(first, "verdict")
    yield from map(Prose, others)
    if run.told is not None and summary.comparison is not None:
        yield from map(Prose, run.told.verdict)
    if study is not None:
        yield Facts(verdict_facts(study))
        yield from (Prose(told, "warning") for told in study.caveats)
    elif summary.standing is not None:
        yield Facts([("judge", summary.standing.sentence)])
    if (gate := summary.run.gate) is not None:
        yield Lines(gate.lines)


def _of_kind(run: RunFacts, shown: set[str]) -> Iterator[Block]:
    told = run.told
    if told is None:
        return
    for grid in told.grids:
        yield _grid(grid, shown)
    yield Lines(told.lines, "" if not told.grids else "The same in words")


def _grid(grid: Grid, shown: set[str]) -> DataTable:
    rows = [
        [
            TableCell(name),
            *(
                TableCell(
                    one.text,
                    anchor_of(one.session_id, one.turn) if one.session_id in shown else "",
                    shade(one.share, 0.0, 1.0),
                )
                for one in cells
            ),
        ]
        for name, cells in grid.rows
    ]
    return DataTable(grid.title, ["", *grid.columns], rows)


def _judges(run: RunFacts) -> Iterator[Block]:
    summary = run.summary
    facts = [("people", summary.standing.sentence)] if summary.standing is not None else []
    facts += list(summary.judging.lines)
    if run.study is not None:
        facts += [pair for pair in verdict_facts(run.study) if pair[0] == "judge"]
    if facts:
        said = {text: label for label, text in reversed(facts)}  # each once, as it is said first
        yield Facts([(label, text) for label, text in facts if said.pop(text, None) is not None])
    if summary.rubrics:
        rows = [
            [
                TableCell(name),
                TableCell(f"{use.calls:,}"),
                TableCell(f"{to_usd(use.spent_nano):.4f}"),
            ]
            for name, use in summary.rubrics.items()
        ]
        yield DataTable("What judging took", ["rubric", "calls", "US dollars"], rows, (1, 2))


def _run(run: RunFacts) -> Iterator[Block]:
    import yaml

    file = run.summary.run
    yield Facts(labelled_facts(run.summary))
    versions = ", ".join(f"{name} {text}" for name, text in file.versions.model_dump().items())
    yield Facts(
        [
            ("run", file.run_id),
            ("versions", versions),
            ("commit", file.git_commit or "no checkout"),
            ("spec", file.spec_hash),
            ("prices", file.prices_hash),
        ]
    )
    text = yaml.safe_dump(_plain(file.spec), sort_keys=False, allow_unicode=True, width=100)
    yield Lines(text.splitlines(), "The resolved spec")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _wanted(run: RunFacts, frame: Any) -> list[str]:
    first = [session for _, session in looked_at_of(run, frame)]
    if run.explained is not None:
        there = set(frame["session_id"].astype(str))
        cited = [one.sessions[0].session for one in run.explained.groups if one.sessions]
        first += [one for one in cited if one in there]
    for _, own in examples_of(run, frame):
        first += [str(row["session_id"]) for row in own]
    return picked(frame, sizes_of(run.tables), [*first, *listed_in(run)])


def _transcripts(run: RunFacts, frame: Any, chosen: Sequence[str]) -> Iterator[Block]:
    if not chosen:
        return
    if len(chosen) < len(frame):
        yield Prose(
            f"{len(chosen):,} of {len(frame):,} sessions are here: the worst, the best, failures "
            "of each kind, and a sample of the rest. "
            f"`matrix show {run.summary.run.run_id} SESSION` has any other."
        )
    yield from shown_sessions(run.tables, frame, chosen)
