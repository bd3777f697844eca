"""Groups, ranks and issues as sections for text and pages, and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from matrix.kinds.reporting import GroupsSessions
from matrix.model.lines import in_line
from matrix.report.groups.averages import (
    Average,
    Configuration,
    Grouped,
    Grouping,
    RankedSession,
    ScenarioCost,
)
from matrix.report.groups.issues import Issue, Since, issues_in, issues_since
from matrix.report.text import Section, metric_value, number, plural, usd_each
from matrix.store.reading.reader import RunTables

ANY_WIDTH: Final = 1_000_000
"""Of what is not printed in columns: all levels stand side by side."""
_QUOTE: Final = 90
_GAP: Final = 2
_DESCRIPTIVE: Final = (
    "Plain means of the sessions that have a value, failed ones too; where not all of a group have "
    "one, how many do. Nothing is tested, and nothing balanced, as it is in a comparison."
)
_MORE: Final = "`matrix show {run} --by all --top N` lists more of them, --json all."
"""How to see issues for which a table has no room, wherever it is read."""
_IN_SEVERAL: Final = "A session counts in every group that it is in."


class Aggregates(NamedTuple):
    """A run's sessions in groups, ranked, with what went wrong in them.

    Attributes:
        run: The run.
        groupings: Averages of every metric, by each thing asked for.
        ranking: Combinations of levels, the best first.
        best, worst: Sessions by score, the most extreme first.
        issues: Every problem, the most serious first.
        since: What of them is new, where an earlier run was named.
        score_digits: Decimals of a score.
        costs: What each scenario cost, where that is known.
    """

    run: str
    groupings: tuple[Grouping, ...]
    ranking: tuple[Configuration, ...]
    best: tuple[RankedSession, ...]
    worst: tuple[RankedSession, ...]
    issues: tuple[Issue, ...]
    since: Since | None
    score_digits: int = 1
    costs: tuple[ScenarioCost, ...] = ()

    @property
    def divided(self) -> tuple[Grouping, ...]:
        """The groupings that divide the sessions at all."""
        return tuple(one for one in self.groupings if len(one.sizes) > 1)

    @property
    def several(self) -> bool:
        """Whether there are two sessions or more to group and rank."""
        return bool(self.groupings) and sum(self.groupings[0].sizes.values()) > 1


def aggregates_of(
    tables: RunTables,
    of_kind: Collection[str],
    kind: GroupsSessions | None,
    by: Sequence[str] | None = None,
    top: int = 5,
    before: RunTables | None = None,
    undirected: Collection[str] = (),
) -> Aggregates:
    """Divide and rank the sessions of a run.

    Args:
        tables: The run's.
        of_kind: Scores of which less is better.
        kind: Its kind, if that divides sessions by who takes part in them.
        by: What to divide by; ``None``: all there is.
        top: How many of the best and of the worst sessions.
        before: An earlier run, to say what is new since.
        undirected: Scores of which neither more nor less is better.

    Raises:
        BadInput: There is nothing of a name in ``by``.
        StoreError: A table is damaged.
    """
    grouped = Grouped(tables, of_kind, kind, undirected)
    best, worst = grouped.extremes(top)
    issues = tuple(issues_in(tables))
    return Aggregates(
        tables.run.run_id,
        tuple(grouped.by(name) for name in (grouped.names if by is None else by)),
        tuple(grouped.ranking()),
        tuple(best),
        tuple(worst),
        issues,
        None if before is None else issues_since(tables, issues, before),
        grouped.score_digits,
        tuple(grouped.costs),
    )


def aggregate_sections(found: Aggregates, width: int, most: int) -> Iterator[Section]:
    """All of it as tables: of a grouping as many side by side as ``width`` columns have room for.

    ``most`` is how many issues are listed.
    """
    for grouping in found.groupings:
        yield from grouping_sections(grouping, width)
    if found.ranking:
        yield ranking_section(found.ranking, found.score_digits)
    yield from (section for section, _ in extremes_told(found))
    yield from _issue_sections(found, most)
    if found.since is not None:
        yield since_section(found.since)


def report_sections(found: Aggregates, most: int) -> Iterator[Section]:
    """What a report has of it: what divides sessions at all, ranks, and so many issues."""
    if not found.several:
        return
    if len(found.ranking) > 1:
        yield ranking_section(found.ranking, found.score_digits)
    yield from (section for section, _ in extremes_told(found))
    if found.costs:
        yield costs_section(found.costs)
    for grouping in found.divided:
        yield from grouping_sections(grouping, ANY_WIDTH)
    if found.issues:
        yield from _issue_sections(found, most)


def _issue_sections(found: Aggregates, most: int) -> Iterator[Section]:
    if len(found.issues) > most:  # the list is a part, which no count can be made of
        yield kinds_section(found.issues)
    yield issues_section(found.issues, most, found.run)


def grouping_sections(grouping: Grouping, width: int) -> Iterator[Section]:
    """Metrics by level: a row a metric, a column a level."""
    first = max((len(name) for name in grouping.averages), default=0)
    cells = {
        level: {
            metric: _mean(metric, of_levels.get(level), grouping.score_digits, size)
            for metric, of_levels in grouping.averages.items()
        }
        for level, size in grouping.sizes.items()
    }
    headers = {level: f"{in_line(level)} ({size:,})" for level, size in grouping.sizes.items()}
    title = f"Every metric by {grouping.name} (played sessions):"
    widths = {level: max(map(len, (headers[level], *own.values()))) for level, own in cells.items()}
    tables = list(_fitting(widths, width - first))
    for levels in tables:
        rows = [
            [metric, *(cells[level][metric] for level in levels)] for metric in grouping.averages
        ]
        right = tuple(range(1, len(levels) + 1))
        notes = [_DESCRIPTIVE, *([_IN_SEVERAL] if grouping.overlaps else [])]
        notes = notes if levels is tables[-1] else []
        yield Section(title, ["metric", *(headers[one] for one in levels)], rows, right, notes)


def _fitting(widths: Mapping[str, int], width: int) -> Iterator[list[str]]:
    """Levels in tables that are no wider than ``width``, at least one in each."""
    row: list[str] = []
    used = 0
    for level, widest in widths.items():
        own = widest + _GAP
        if row and used + own > width:
            yield row
            row, used = [], 0
        row.append(level)
        used += own
    if row:
        yield row


def _mean(metric: str, average: Average | None, digits: int, size: int) -> str:
    if average is None:
        return "-"
    told = metric_value(metric, average.mean, score=digits)
    return told if average.sessions == size else f"{told} ({average.sessions:,} of {size:,})"


def ranking_section(ranking: Sequence[Configuration], digits: int) -> Section:
    """Configurations, the best first; ``digits`` are decimals of a score."""
    names = list(ranking[0].levels)
    rows = [
        [
            str(place),
            *(one.levels[name] for name in names),
            number(one.score, digits),
            f"{one.scored:,}/{one.sessions:,}",
            "-" if one.failed is None else f"{one.failed:,}",
            usd_each(one.usd),
        ]
        for place, one in enumerate(ranking, 1)
    ]
    numbers = tuple(range(len(names) + 1, len(names) + 5))
    return Section(
        "Configurations, the best mean score first:",
        ["#", *names, "score", "scored", "failed", "$ a session"],
        rows,
        (0, *numbers),
        ["Over all scenarios. By means alone: `matrix compare` says what is shown to be better."],
    )


def costs_section(costs: Sequence[ScenarioCost]) -> Section:
    """What each scenario cost, in total and a session."""
    rows = [
        [one.scenario, f"{one.sessions:,}", f"{one.usd:.4f}", usd_each(one.usd / one.sessions)]
        for one in costs
    ]
    note = "Of all sessions that were begun; what calls outside of sessions cost is not in it."
    headers = ["scenario", "sessions", "$ in total", "$ a session"]
    return Section("What each scenario cost:", headers, rows, (1, 2, 3), [note])


def extremes_told(found: Aggregates) -> Iterator[tuple[Section, Sequence[RankedSession]]]:
    """The best and the worst sessions, each as a table, with what its rows are of."""
    worse = "none is worse than the best" if found.best else "none has one"
    for title, own, none in (("Best", found.best, "none has one"), ("Worst", found.worst, worse)):
        yield _sessions(f"{title} sessions by score", own, found.score_digits, none), own


def _sessions(title: str, sessions: Sequence[RankedSession], digits: int, none: str) -> Section:
    """Sessions by score, those of imported results with their units; ``none`` if there are none."""
    named = any(one.unit for one in sessions)
    rows = [
        [
            one.session[:16],
            *([one.unit or "-"] if named else []),
            number(one.score, digits),
            one.scenario,
            _levels(one.levels),
            one.outcome,
        ]
        for one in sessions
    ]
    if not rows:
        return Section(f"{title}: {none}.", [], [])
    unit = ["unit"] if named else []
    headers = ["session", *unit, "score", "scenario", "variant", "outcome"]
    return Section(f"{title}:", headers, rows, (1 + len(unit),))


def listed_issues(issues: Sequence[Issue], most: int) -> list[Issue]:
    """So many issues, in their order: of each kind in turn, so that a frequent one hides none."""
    if len(issues) <= most:
        return list(issues)
    seen = Counter[str]()
    places = []
    for at, one in enumerate(issues):
        places.append((seen[one.kind], at))
        seen[one.kind] += 1
    return [issues[at] for at in sorted(at for _, at in sorted(places)[:most])]


def kinds_section(issues: Sequence[Issue]) -> Section:
    """How often each kind of issue was found, in how many sessions, and of which variant."""
    kinds: dict[tuple[str, str], list[Issue]] = {}
    for one in issues:
        kinds.setdefault((one.severity, one.kind), []).append(one)
    levels = sorted({_levels(one.levels) for one in issues})
    beside = levels if 1 < len(levels) <= _MOST_LEVELS else []
    rows = []
    for (severity, kind), own in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        counts = Counter(_levels(one.levels) for one in own)
        sessions = len({one.session for one in own})
        cells = (len(own), sessions, *(counts[level] for level in beside))
        rows.append([kind, severity, *(f"{count:,}" for count in cells)])
    headers = ["issue", "", "times", "sessions", *beside]
    return Section("Issues by kind:", headers, rows, tuple(range(2, len(headers))))


_MOST_LEVELS: Final = 6


def issues_section(issues: Sequence[Issue], most: int, run: str) -> Section:
    """What went wrong, with turn and quote."""
    if not issues:
        return Section("What went wrong: nothing that the kind looks for.", [], [])
    rows = [
        [
            one.severity,
            one.kind,
            one.session[:16],
            f"{one.turn:,}",
            one.scenario,
            _levels(one.levels),
            _quote(_named(one)),
        ]
        for one in listed_issues(issues, most)
    ]
    sessions = len({one.session for one in issues})
    told, order = f"{plural(len(issues), 'issue')} in {plural(sessions, 'session')}", "errors first"
    left = len(issues) - len(rows)
    notes = [f"`matrix show {run} SESSION` has the transcript."]
    if left > 0:
        notes.insert(0, f"{left:,} more; {_MORE.format(run=run)}")
        listed = Counter(row[0] for row in rows)
        every = Counter(one.severity for one in issues)
        shares = [f"{listed[name]:,} of {plural(n, name)}" for name, n in every.items()]
        order = f"of each kind some ({', '.join(sorted(shares))})"
    headers = ["", "issue", "session", "turn", "scenario", "variant", "quote"]
    return Section(f"What went wrong: {told}, {order}:", headers, rows, (3,), notes)


def since_section(since: Since) -> Section:
    """What is new, gone or still there since an earlier run."""
    on = ", ".join(since.pairs_on)
    title = f"Issues since {since.run}, in {plural(since.places, 'session')} that both have played"
    if not since.places:
        return Section(f"{title}: nothing can be said.", [], [], (), [f"Paired by {on}."])
    rows = [
        [
            one.standing,
            one.kind,
            *(f"{count:,}" for count in (one.new, one.gone, one.still)),
            "" if one.example is None else _place(one.example),
        ]
        for one in since.changes
    ]
    notes = [f"Paired by {on}."]
    if not since.same_draws:
        notes.append("The seeds differ: a round of one run has other groups than in the other.")
    if not rows:
        return Section(f"{title}: none in either.", [], [], (), notes)
    headers = ["", "issue", "new in", "gone from", "still in", "first new one"]
    return Section(f"{title}:", headers, rows, (2, 3, 4), notes)


def _place(one: Issue) -> str:
    return f"{one.session[:16]} turn {one.turn}: {_quote(_named(one))}"


def _named(one: Issue) -> str:
    """What is wrong, and with whom if it is a name that the words themselves do not say."""
    if one.subject[:1].isupper() and one.subject not in one.quote:
        return f"{one.subject}: {one.quote}"
    return one.quote


def _levels(levels: Mapping[str, str]) -> str:
    return ", ".join(levels.values())


def _quote(text: str) -> str:
    line = in_line(" ".join(text.split()))
    return line if len(line) <= _QUOTE else line[: _QUOTE - 3] + "..."


def _ranked_as_data(one: RankedSession) -> dict[str, Any]:
    """A session; only what was imported has a unit."""
    return {name: value for name, value in one._asdict().items() if name != "unit" or value}


def aggregates_as_data(found: Aggregates) -> dict[str, Any]:
    """All of it for programs, nothing cut."""
    since = found.since
    return {
        "run": found.run,
        "by": {
            one.name: {
                level: {
                    "sessions": size,
                    "metrics": {
                        metric: averages[level]._asdict()
                        for metric, averages in one.averages.items()
                        if level in averages
                    },
                }
                for level, size in one.sizes.items()
            }
            for one in found.groupings
        },
        "scenario_costs": [one._asdict() for one in found.costs],
        "ranking": [one._asdict() for one in found.ranking],
        "best": [_ranked_as_data(one) for one in found.best],
        "worst": [_ranked_as_data(one) for one in found.worst],
        "issues": [one._asdict() for one in found.issues],
        **(
            {}
            if since is None
            else {
                "since": {
                    **since._asdict(),
                    "changes": [
                        {
                            **one._asdict(),
                            "standing": one.standing,
                            "example": None if one.example is None else one.example._asdict(),
                        }
                        for one in since.changes
                    ],
                }
            }
        ),
    }
