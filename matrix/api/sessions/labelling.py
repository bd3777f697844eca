"""Checking judges against people: what to label, labels taken, and what they say of a judge."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from math import isfinite
from pathlib import Path
from shlex import quote
from typing import Final

import numpy as np

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.engine.prepare.judges import questions_of
from matrix.engine.prepare.keys import ENV_NAME, known_secrets
from matrix.engine.prepare.plan_file import project_of_run
from matrix.engine.prepare.registry import load_kind
from matrix.judging.listed import shown_to
from matrix.judging.repeats import REPEAT, SESSION_SCORE
from matrix.judging.request import cut
from matrix.kinds.protocol import (
    MATERIAL,
    PROMPTS,
    REPORTED,
    AsksPeople,
    LabelQuestion,
    PreviousPlay,
)
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.files import read_plain
from matrix.model.lines import no_formula
from matrix.model.records import Message, storable_text
from matrix.model.seeds import derive_seed
from matrix.report.compare.judges.judge_check import JudgeCheck, check_judge
from matrix.report.compare.judges.labelled import names_of_transcripts
from matrix.report.text import harmless
from matrix.store.foreign.results import RowFaults, shown
from matrix.store.reading.checkpoints import Moments
from matrix.store.reading.reader import RunTables
from matrix.store.run.exports import write_files
from matrix.store.shared.labels import (
    LONGEST_NOTE,
    JudgeId,
    Label,
    LabelledTranscript,
    add_labels,
    judged_values,
    judges_of,
    read_labels,
)
from matrix.store.tables.tables import factor_columns
from matrix.telemetry.redaction import Redactor

MANY: Final = 50
"""Sessions that are drawn to be labelled, unless told otherwise."""

PASS, FAIL = "PASS", "FAIL"

_COLUMNS: Final = ("run", "session", "metric", "answer", "label", "note", "question", "transcript")
_CELL: Final = 30_000
"""Characters of a cell: spreadsheets have room for some more."""

_MOST_BYTES: Final = 200_000_000
_LONGEST_ID: Final = 80
"""Characters of a run's id that a message repeats in a command."""


@dataclass(frozen=True, slots=True)
class LabelItem:
    """A session to be labelled: what is asked about it, and what was said in it.

    Nothing in it tells which variant it is, or what the judge says.
    """

    session: str
    question: LabelQuestion
    transcript: str


class Labelling:
    """Labelling sessions of a run by one of its scores. Close it."""

    def __init__(self, run: Run, metric: str | None, sessions: int, rater: str) -> None:
        """Draw the sessions.

        Args:
            run: The run.
            metric: A score that a judge gives; by default the one that the run is about.
            sessions: How many to draw; the same, in the same order, whenever it is asked.
            rater: Who labels.

        Raises:
            BadInput: The score is none that people can be asked for, or no session has it.
            StoreError: A file is damaged, or the run is archived.
        """
        env_file = project_of_run(run.path) / ENV_NAME
        self._redactor = Redactor(known_secrets(env_file, os.environ))
        self.run, self.rater = run, self._kept(rater)
        self._tables = RunTables(run.path)
        self._judges = judges_of(self._tables)
        self._moments = Moments(run.path)
        try:
            self.metric = self._chosen(metric)
            self._values = judged_values(self._tables, self.metric)
            self.drawn = self._draw(sessions)
        except BaseException:
            self._moments.close()
            raise

    @cached_property
    def run_id(self) -> str:
        """The run's id; of the run itself it is read anew from its folder each time."""
        return self.run.id

    @property
    def done(self) -> frozenset[str]:
        """The sessions among those drawn that this person has labelled."""
        mine = {
            one.session
            for one in read_labels(self.run.path.parent)
            if (one.run, one.metric, one.rater) == (self.run_id, self.metric, self.rater)
        }
        return frozenset(mine & set(self.drawn))

    def item(self, session: str) -> LabelItem:
        """What to show of a session."""
        questions = self._questions(session)
        question = questions[self.metric]
        log = self._moments.after(session, self._turns[session]).log
        hidden = (REPORTED, PROMPTS)
        said = [
            (n, one)
            for n, one in enumerate(log)
            if not one.channel.startswith(hidden)
            and question.turn in (0, one.turn)
            and (not question.speakers or one.speaker in question.speakers)
        ]
        lines = [_line(one) for _, one in shown_to(question.target, said)]
        return LabelItem(session, question, "\n\n".join(lines))

    def take(self, labels: Iterable[tuple[str, float, str]]) -> int:
        """Keep labels, each a session, its value, and a note; how many were kept."""
        now, made = datetime.now(UTC), list[Label]()
        for session, value, note in labels:
            judged, judge = self._values.get(session, (None, JudgeId("", "")))
            made.append(
                Label(
                    run=self.run_id,
                    session=session,
                    metric=self.metric,
                    rater=self.rater,
                    value=value,
                    note=self._kept(note)[:LONGEST_NOTE],
                    judge_value=judged,
                    judge_model=judge.model,
                    rubric_hash=judge.rubric,
                    at=now,
                )
            )
        add_labels(self.run.path.parent, made)
        return len(made)

    def close(self) -> None:
        """Let go of the run's journal."""
        self._moments.close()

    def _kept(self, text: str) -> str:
        """What somebody wrote, as it is kept: without the values of keys."""
        return self._redactor.values(storable_text(text))

    @cached_property
    def _turns(self) -> Mapping[str, int]:
        frame = self._tables.frame("sessions", ["session_id", "turns"])
        return dict(zip(frame.session_id, map(int, frame.turns), strict=True))

    def _questions(self, session: str) -> Mapping[str, LabelQuestion]:
        moment = self._moments.after(session, self._turns[session])
        kind = load_kind(self.run.file.kind, kept=self.run.file.kind_facts)
        kept = PreviousPlay(moment.plan, moment.texts)
        own = kind.questions(kept) if isinstance(kind, AsksPeople) else {}
        return {**own, **questions_of(moment.texts)}

    def _chosen(self, metric: str | None) -> str:
        frame = self._tables.frame("sessions", ["session_id", "scenario", "outcome"])
        over = frame[frame.outcome.isin(["completed", "timeout"])]
        if over.empty:
            told = "no session has come to its end, so there is nothing to label"
            raise BadInput([Mistake(self.run.id, None, "", told)])
        asked: dict[str, None] = {}  # a scenario may have questions that another has not
        for session in over.drop_duplicates("scenario").session_id:
            asked |= dict.fromkeys(self._questions(str(session)))
        known = [name for name in asked if name in self._judges]
        if not known:
            told = "no score of this run is a judge's that people could be asked for"
            raise BadInput([Mistake(self.run.id, None, "", told)])
        if metric is None:
            about = self.run.file.plan.metric
            return about if about in known else known[0]
        if metric not in known:
            told = f"found {metric!r}; {self._why_not(metric, known)}people can be asked for: "
            told += f"{', '.join(known)}{did_you_mean(metric, known)}"
            raise BadInput([Mistake("--metric", None, "", told)])
        return metric

    def _why_not(self, metric: str, known: Collection[str]) -> str:
        """Why people are not asked for a score that the run has; empty if it has none."""
        if metric == SESSION_SCORE:
            return (
                "it is worked out from other scores, and a judge is held to what it says of those, "
                "for the score too; "
            )
        if metric.startswith(REPEAT):
            return "it is one of several judgings of a transcript; label what they come to; "
        return "it is worked out from others; " if metric in self._judges else ""

    def _draw(self, sessions: int) -> list[str]:
        """Sessions at random, as many of each variant as of any other."""
        compared = self.run.file.plan.compared
        tables, columns = self._tables, ["session_id", "outcome"]
        column = factor_columns(self.run.file.plan.factors).get(compared or "")
        frame = tables.frame("sessions", [*columns, *([column] if column else [])])
        frame = frame[frame.session_id.isin(list(self._values)) & (frame.outcome != "censored")]
        rng = np.random.default_rng(derive_seed("labels", self.run.id, self.metric))
        order = rng.permutation(len(frame))
        frame = frame.sort_values("session_id").iloc[order]
        if column:
            place = frame.groupby(column, observed=True).cumcount()
            frame = frame.assign(_place=place).sort_values("_place", kind="stable")
        drawn = [str(session) for session in frame.session_id[:sessions]]
        # in turn by variant, one that is recognised would tell the variant of all
        return [drawn[place] for place in rng.permutation(len(drawn))]


def labelling(
    run: str | Path = NEWEST,
    *,
    metric: str | None = None,
    sessions: int = MANY,
    rater: str = "",
    results: str | Path = RESULTS,
) -> Labelling:
    """Sessions of a run to be labelled by people, drawn at random. Close what is returned.

    Raises:
        BadInput: As :class:`Labelling`; or the number of sessions is none.
        RunNotFound: No such run.
    """
    if sessions < 1:
        raise BadInput([Mistake("--sessions", None, "", f"found {sessions}; at least 1")])
    return Labelling(open_run(run, results=results), metric, sessions, rater)


def value_of(text: str, question: LabelQuestion) -> float:
    """A person's answer as a number.

    Raises:
        ValueError: It is none; the message says what is allowed.
    """
    word = text.strip().upper()
    if question.verdict:
        if word and word in (PASS, "P", "YES", "Y", "1", "1.0"):
            return 1.0
        if word and word in (FAIL, "F", "NO", "N", "0", "0.0"):
            return 0.0
        raise ValueError(f"found {text.strip()[:40]!r}; PASS or FAIL (or p, f)")
    try:
        value = float(word.replace(",", "."))
    except ValueError:
        value = float("nan")
    if not (isfinite(value) and question.low <= value <= question.high):
        told = f"a number from {question.low:g} (worst) to {question.high:g} (best)"
        raise ValueError(f"found {text.strip()[:40]!r}; {told}")
    return value


def allowed(question: LabelQuestion) -> str:
    """What may be answered, in words."""
    return "PASS or FAIL" if question.verdict else f"{question.low:g} to {question.high:g}"


def write_labels(work: Labelling, path: str | Path, *, force: bool = False) -> int:
    """Write the drawn sessions as a table (CSV) with an empty column for labels; how many.

    Raises:
        BadInput: The file is there already.
        StoreError: It cannot be written.
    """
    target = Path(path)
    done = work.done
    rows = [work.item(session) for session in work.drawn if session not in done]
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(_COLUMNS)
    for one in rows:
        asked, said = one.question.text, one.transcript
        answer = allowed(one.question)
        cells = (work.run_id, one.session, work.metric, answer, "", "", asked, said)
        table.writerow([_cell(text) for text in cells])
    data = out.getvalue().encode("utf-8-sig")
    write_files(target.parent, {target.name: lambda: data}, force=force)
    return len(rows)


def read_label_file(work: Labelling, path: str | Path) -> int:
    """Take the labels of a table that was written before; how many. Rows without one are left.

    Raises:
        BadInput: Rows that do not fit, the first ones in words; nothing was taken.
    """
    source = Path(path)
    try:
        if source.stat().st_size > _MOST_BYTES:
            raise BadInput([Mistake(str(path), None, "", "is larger than 200 MB")])
        text = read_plain(source, _MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        told = f"cannot be read: {error.strerror}"
        raise BadInput([Mistake(str(path), None, "", told)]) from None
    except UnicodeDecodeError:
        raise BadInput([Mistake(str(path), None, "", "is not UTF-8 text; save it so")]) from None
    faults, found = RowFaults(str(path)), dict[str, tuple[str, float, str]]()
    for line, row in _rows(text, str(path)):
        session, given = row["session"].strip(), row["label"].strip()
        if not given:
            continue

        try:
            found[session] = (session, _label_in(work, row, found), row.get("note", ""))
        except ValueError as error:
            faults.say(line, "", str(error))
    faults.stop_if_any()
    return work.take(found.values())


def _label_in(work: Labelling, row: Mapping[str, str], found: Collection[str]) -> float:
    """The label in a row; a ``ValueError`` says why it cannot be taken."""
    session, metric = row["session"].strip(), row.get("metric", work.metric).strip()
    run = row.get("run", "").strip() or work.run_id
    if run != work.run_id:  # a session of the same id there may have said something else
        told = "" if len(run) > _LONGEST_ID else f"; `matrix label {quote(run)} --read` takes it"
        raise ValueError(f"is of the run {shown(run)}{told}")
    if metric != work.metric:
        raise ValueError(f"is about {metric!r}; say --metric {metric} to read such labels")
    if session not in work.drawn:
        told = "none of those that were drawn of this run (more are, with --sessions)"
        raise ValueError(f"found the session {session!r}; it is {told}")
    if session in found:
        raise ValueError(f"labels session {session} a second time")
    return value_of(row["label"], work.item(session).question)


def check_labels(
    run: str | Path = NEWEST, *, metric: str | None = None, results: str | Path = RESULTS
) -> list[JudgeCheck]:
    """How far the judges of a run agree with people, for every score that was labelled.

    A run that judges another's sessions again is checked by the labels of those; what its judges
    gave is kept beside them, so that they count as checked from then on.

    Raises:
        BadInput: There are no labels, or none of this score.
        RunNotFound: No such run.
    """
    opened = open_run(run, results=results)
    tables, folder = RunTables(opened.path), opened.path.parent
    names = names_of_transcripts(tables)
    home = {name: session for session, those in names.items() for name in those}
    known = [one for one in read_labels(folder) if one.place in home]
    inherited = _inherited(opened.id, tables, known, home)
    add_labels(folder, inherited)
    known = [one for one in [*known, *inherited] if one.run == opened.id]
    there = sorted({one.metric for one in known})
    if metric is not None and metric not in there:
        told = f"found {metric!r}; there are labels of: {', '.join(there) or 'none'}"
        raise BadInput([Mistake("--metric", None, "", told + did_you_mean(metric, there))])
    if not there:
        told = f"has no labels yet; `matrix label {opened.id}` begins"
        raise BadInput([Mistake(opened.id, None, "", told)])
    levels = _variants(opened, tables)
    return [check_judge(name, known, levels) for name in there if metric in (None, name)]


def _inherited(
    run: str, tables: RunTables, known: Sequence[Label], home: Mapping[LabelledTranscript, str]
) -> list[Label]:
    """Labels of the parents' transcripts, with what this run's judges gave for the same."""
    mine = {(one.session, one.metric, one.rater): one for one in known if one.run == run}
    values: dict[str, Mapping[str, tuple[float | None, JudgeId]]] = {}
    found = []
    for one in known:
        session = home[one.place]
        there = mine.get((session, one.metric, one.rater))
        if one.run == run or (there and (not there.of or there.value == one.value)):
            continue
        if one.metric not in values:
            values[one.metric] = judged_values(tables, one.metric, list(home.values()))
        if session in values[one.metric]:
            value, judge = values[one.metric][session]
            new = {
                "run": run,
                "session": session,
                "of": one.transcript.session,
                "of_run": one.transcript.run,
                "judge_value": value,
                "judge_model": judge.model,
                "rubric_hash": judge.rubric,
            }
            found.append(one.model_copy(update=new))
    return found


def _variants(run: Run, tables: RunTables) -> dict[LabelledTranscript, str]:
    column = factor_columns(run.file.plan.factors).get(run.file.plan.compared or "")
    if not column:
        return {}
    frame = tables.frame("sessions", ["session_id", column])
    judged = [LabelledTranscript(run.id, str(session)) for session in frame.session_id]
    return dict(zip(judged, frame[column].astype(str), strict=True))


def _rows(text: str, source: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table by column, with the line that each ends on."""
    csv.field_size_limit(10_000_000)
    sample = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text), delimiter=";" if ";" in sample else ",")
    try:
        missing = {"session", "label"} - set(reader.fieldnames or ())
        if missing:
            told = f"has no column {' and no column '.join(sorted(missing))} in its first line"
            raise BadInput([Mistake(source, 1, "", told)])
        return [
            (reader.line_num, {name: value or "" for name, value in row.items() if name})
            for row in reader
        ]
    except csv.Error as error:
        raise BadInput([Mistake(source, reader.line_num, "", f"is no table: {error}")]) from None


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and that has room in a cell."""
    return no_formula(cut(harmless(text), _CELL))


def _line(message: Message) -> str:
    if message.channel == MATERIAL:
        return f"File {message.label}:\n{message.text}"
    alone = f" (to {message.heard_by} alone)" if message.heard_by else ""
    return f"{message.speaker}{alone}: {message.text}"
