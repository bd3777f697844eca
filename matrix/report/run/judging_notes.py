"""What judges did that a verdict should not be read without: faults of theirs, and of panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from matrix.engine.prepare.judges import names_of
from matrix.judging.choice import WON
from matrix.judging.marks import DISAGREES, MARKED, MISNAMED, QUOTES_NOTHING, UNREVIEWED
from matrix.judging.panel import NO_MAJORITY
from matrix.model.records import JSON
from matrix.report.text import one_line, plural
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile

_CITES, _BY_PLACE = "cites_nothing", "chosen_by_place"


class Unjudged(NamedTuple):
    """Sessions that a listed judge has no score for.

    Attributes:
        sessions: Sessions that it was to score.
        scored: Those with a score.
        reason: The newest reason of those without one that no panel was divided on; else of those.
        divided: Those without one because no word had a majority in the panel.
    """

    sessions: int
    scored: int
    reason: str
    divided: int = 0


@dataclass(frozen=True, slots=True)
class JudgingNotes:
    """Faults of judges, by rubric (or agent, or kind), counted.

    Attributes:
        cites_nothing: Reasons that cite a message which the judge was not shown.
        quotes_nothing: Judgings whose reasons quote words that are nowhere in what was judged.
        misnamed: Judgings in which criteria are called by words that are none of theirs.
        disagrees: Judgings that claim another verdict than their findings make, which count.
        by_place: Choices that went with the place, and all that could be read.
        unreviewed: Questions about issues that gave no verdict that counts.
        marked: Judgings whose material contains fences, or lines like a verdict.
    """

    cites_nothing: Mapping[str, int]
    quotes_nothing: Mapping[str, int]
    misnamed: Mapping[str, int]
    disagrees: Mapping[str, int]
    by_place: Mapping[str, tuple[int, int]]
    unreviewed: Mapping[str, int]
    marked: int

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Label and text of each line of a summary."""
        told = [
            f"{name}: {plural(count, 'reason')} {one if count == 1 else more} {what}"
            for counts, one, more, what in (
                (self.cites_nothing, "cites", "cite", "a message that the judge was not shown"),
                (
                    self.quotes_nothing,
                    "quotes",
                    "quote",
                    "words that are nowhere in what was judged",
                ),
            )
            for name, count in counts.items()
        ]
        told += [
            f"{name}: {plural(count, 'judging')} {'calls' if count == 1 else 'call'} criteria by "
            "words that are none of theirs"
            for name, count in self.misnamed.items()
        ]
        told += [
            f"{name}: {plural(count, 'judging')} {'claims' if count == 1 else 'claim'} another "
            f"verdict than {'its' if count == 1 else 'their'} findings make; the findings count"
            for name, count in self.disagrees.items()
        ]
        told += [
            f"{name}: {count:,} of {plural(of, 'comparison')} chosen by place, and so a tie"
            for name, (count, of) in self.by_place.items()
        ]
        told += [
            f"{name}: {plural(count, 'question')} about issues without a verdict that counts: what "
            "rules reported stands, and nothing was found beside it"
            for name, count in self.unreviewed.items()
        ]
        rows = [("judge faults" if not n else "", line) for n, line in enumerate(told)]
        if self.marked:
            text = plural(self.marked, "judged text")
            like = "contained marks that look like ours (fences, verdict lines)"
            rows.append(("judged data", f"{text} {like}; they were taken as text"))
        return rows

    @property
    def data(self) -> dict[str, JSON]:
        """The same for programs."""
        return {
            "cites_nothing": dict(self.cites_nothing),
            "quotes_nothing": dict(self.quotes_nothing),
            "misnames_criteria": dict(self.misnamed),
            "judge_disagrees": dict(self.disagrees),
            "chosen_by_place": {
                name: {"choices": count, "of": of} for name, (count, of) in self.by_place.items()
            },
            "not_reviewed": dict(self.unreviewed),
            "marked_texts": self.marked,
        }


def judging_notes(tables: RunTables) -> JudgingNotes:
    """Count them in the events of a run."""
    events = tables.frame("events", ["session_id", "kind", "subject", "detail", "turn", "value"])
    kinds = [_CITES, QUOTES_NOTHING, MISNAMED, DISAGREES, _BY_PLACE, UNREVIEWED]
    faults = events[events["kind"].isin(kinds)]
    by_place = _counts(faults, _BY_PLACE)
    of = _comparisons(tables, by_place) if by_place else {}
    return JudgingNotes(
        _counts(faults, _CITES),
        _counts(faults, QUOTES_NOTHING),
        _counts(faults, MISNAMED),
        _counts(faults, DISAGREES),
        {name: (count, max(count, of.get(name, 0))) for name, count in by_place.items()},
        _counts(faults, UNREVIEWED),
        _marked(tables, events[events["kind"] == MARKED]),
    )


def _marked(tables: RunTables, events: Any) -> int:
    """Texts with marks: what listed judges, and members of a panel, are shown is one text."""
    listed = events["subject"].isin(names_of(tables.run.spec))
    own = events[~listed].drop_duplicates()
    return len(own) + len(set(events[listed]["session_id"]) - set(own["session_id"]))


def _counts(events: Any, kind: str) -> dict[str, int]:
    found = events[events["kind"] == kind]["subject"].fillna("").astype(str).value_counts()
    return {str(name): int(count) for name, count in sorted(found.items())}


def _comparisons(tables: RunTables, names: Mapping[str, int]) -> dict[str, int]:
    """Rubric -> choices that could be read; of a panel those of its members."""
    scores = tables.frame("scores", ["name", "label"])
    labels = scores[scores["label"].isin(tuple(WON.values()))]["name"].astype(str).value_counts()
    found = {}
    for name in names:
        members = sum(int(n) for one, n in labels.items() if _is_member(str(one), name))
        found[name] = members or int(labels.get(name, 0))
    return found


def _is_member(score: str, rubric: str) -> bool:
    first, _, rest = score.partition(".")
    return first == "judge" and rest.partition(".")[2] == rubric


def unjudged_in(tables: RunTables, run: RunFile) -> dict[str, Unjudged]:
    """Scores of listed judges that some sessions lack: rows, values, and the newest reason."""
    names = names_of(run.spec)
    if not names:
        return {}
    scores = tables.frame("scores", ["name", "turn", "value", "label", "reason", "seq"])
    scores = scores[scores["turn"].isna() & scores["name"].isin(names)]
    found = {}
    for name, rows in scores.groupby("name", observed=True):
        lost = rows[rows["value"].isna()].sort_values("seq")
        if len(lost):
            divided = lost["label"] == NO_MAJORITY
            told = lost[~divided] if (~divided).any() else lost
            newest = told["reason"].iloc[-1]
            reason = newest if isinstance(newest, str) else ""
            counts = len(rows), len(rows) - len(lost), reason, int(divided.sum())
            found[str(name)] = Unjudged(*counts)
    return found


def unjudged_lines(unjudged: Mapping[str, Unjudged]) -> list[tuple[str, str]]:
    """Label and text of each line of a summary: panels that disagree apart from what was unread."""
    rows = []
    for name, one in unjudged.items():
        lost = one.sessions - one.scored
        newest = f" (newest: {one_line(one.reason)})" if one.reason else ""
        if one.divided:
            told = f"{name}: the panel's members disagree on {one.divided:,} of {one.sessions:,} "
            told += "sessions, with no majority for a verdict"
            rows.append(("divided", told + newest * (lost == one.divided)))
        if lost > one.divided:
            told = f"{name}: {one.scored:,} of {one.sessions:,} sessions have a score"
            rows.append(("unjudged", told + newest))
    return rows
