"""A run in a results folder: opening it, and what can be read of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.store.journal.journal import JOURNAL_NAME
from matrix.store.run.driven import run_as_it_stands, standing
from matrix.store.run.run_folder import ListedRun, RunFile, find_run, read_run
from matrix.store.run.run_folder import list_runs as _list_runs

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from matrix.api.plotting import Plots
    from matrix.api.sessions.interviewing import Interviewed
    from matrix.report.gates.gate_wish import FailOn
    from matrix.report.gates.gating import GateReport
    from matrix.report.run.summary import Summary
    from matrix.report.study.study import Study
    from matrix.store.journal.transcript import Transcript

RESULTS = "results"
"""Where runs land unless told otherwise."""

NEWEST = "last"
"""What stands for the newest run instead of an id."""


class Run:
    """A run in a results folder, finished or not."""

    def __init__(self, path: Path) -> None:
        """Raises ``StoreError`` if ``path`` is not a run's folder."""
        self.path = path
        self._summary: Summary | None = None  # of a run that is over it is read once
        read_run(path)

    def _repr_html_(self) -> str:
        """What a notebook shows: its page without transcripts, in a frame of its own."""
        from html import escape

        from matrix import api

        page = escape(api.report(self, transcripts=False), quote=True)
        return f'<iframe sandbox srcdoc="{page}" width="100%" height="640"></iframe>'

    @property
    def plot(self) -> Plots:
        """Charts of its report, as in ``run.plot.intervals()``."""
        from matrix.api.plotting import Plots

        return Plots(self)

    def report(self, form: str = "html", *, session: str = "") -> str:
        """Its report as text: ``html``, ``md``, ``github``, ``junit`` or ``csv``.

        Args:
            form: Which.
            session: Only this session (html and md).

        Raises:
            BadInput: No such form.
            SessionNotFound: No such session.
        """
        from matrix import api

        return api.report(self, form=form, session=session)

    @property
    def id(self) -> str:
        return self.file.run_id

    @property
    def file(self) -> RunFile:
        """What ``run.json`` says now; a run that nobody drives any more is interrupted."""
        return run_as_it_stands(self.path)

    @property
    def status(self) -> str:
        """``running``, ``complete``, ``incomplete`` or ``failed``."""
        return self.file.status

    def table(self, name: str, columns: Iterable[str] | None = None) -> pa.Table:
        """One of the run's tables as Arrow: sessions, turns, messages, calls, scores, ..."""
        from matrix.store.reading.reader import RunTables

        return RunTables(self.path).table(name, list(columns) if columns else None)

    def frame(self, name: str, columns: Iterable[str] | None = None) -> pd.DataFrame:
        """One of the run's tables as a pandas frame."""
        from matrix.store.reading.reader import RunTables

        return RunTables(self.path).frame(name, list(columns) if columns else None)

    def sessions(self) -> pd.DataFrame:
        """The ``sessions`` table: one row per planned session.

        What the files of imported results do not tell is missing in it, and not 0.
        """
        from matrix.store.reading.reader import RunTables
        from matrix.store.reading.told import untold_in

        tables = RunTables(self.path)
        found, untold = tables.frame("sessions"), set(untold_in(tables))
        untold |= {"cost_nano"} if "cost_usd" in untold else set()
        return found.assign(**{name: float("nan") for name in untold if name in found})

    def scenarios(self) -> pd.DataFrame:
        """A row for every scenario: its title, and the fields that it can be grouped by.

        Its index is the scenario's name, so that it joins with other tables on ``scenario``.
        """
        import pandas as pd

        table = self.file.plan.scenario_table
        rows = [{"scenario": name, **table.get(name, {})} for name in self.file.plan.scenarios]
        return pd.DataFrame(rows).set_index("scenario")

    def compare(
        self,
        factor: str | None = None,
        metric: str | None = None,
        *,
        other: Run | None = None,
        margin: float | None = None,
        by: str | None = None,
        against: str | None = None,
    ) -> Study:
        """Compare a factor's levels, or this run with another; see :func:`matrix.compare`."""
        from matrix import api

        return api.compare(
            self, other, factor=factor, metric=metric, margin=margin, by=by, against=against
        )

    def gate(
        self,
        baseline: str | Path | None = None,
        *,
        margin: float | None = None,
        thresholds: Mapping[str, float] | None = None,
        metric: str | None = None,
        fail_on: Iterable[FailOn] = ("regression", "threshold"),
        allow_errored: float | None = None,
    ) -> GateReport:
        """Whether it is no worse than another run, and good enough by itself.

        Args:
            baseline: The other run: id, beginning of an id or path; ``latest`` for the newest
                complete run of the same name before this one, and no such gate if there is none.
            margin: How much worse it may be, in units of the metric; that of the spec if left out.
            thresholds: Metric -> least mean or pass rate; the largest where lower is better.
            metric: What is compared with the baseline; the declared metric if left out.
            fail_on: What ``failed`` of the report goes by.
            allow_errored: Share of errored sessions, among those that ended, up to which it can
                pass; 0.2 if left out. With more it fails, whatever ``fail_on`` says.

        Raises:
            BadInput: Every mistake.
        """
        from matrix.api.gating import check_gates
        from matrix.report.gates.gate_wish import MOST_ERRORED, GateWish, share_fault

        if (fault := share_fault(allow_errored)) is not None:
            raise BadInput([Mistake("allow_errored", None, "", fault[1])])
        name = None if baseline is None else str(baseline)
        share = MOST_ERRORED if allow_errored is None else allow_errored
        wish = GateWish(name, margin, dict(thresholds or {}), frozenset(fail_on), metric, share)
        return check_gates(wish, self.file, self.path.parent).decide(self)

    def summary(self) -> Summary:
        """Outcomes, costs by role, variants and verdict."""
        from matrix.report.run.summary import summarize_run

        file = self.file
        if self._summary is None or self._summary.run != file or file.status == "running":
            self._summary = summarize_run(self.path, file)
        return self._summary

    def session(self, text: str) -> Transcript:
        """One session: by id, beginning of an id, or ``best``, ``worst``, ``longest``, ``failed``.

        Raises:
            SessionNotFound: No such session.
        """
        from matrix.store.journal.journal import JournalReader
        from matrix.store.journal.transcript import find_session, transcript

        if text in ("best", "worst", "longest", "failed"):
            from matrix.report.run.summary import extreme_session

            text = extreme_session(self.path, text)
        with closing(JournalReader(self.path / JOURNAL_NAME)) as reader:
            reader.require_run(self.path.name)
            return transcript(reader, find_session(reader, text))

    def replay(self, session: str, *, turn: int, **more: Any) -> Run:
        """Play on from one of its sessions after a turn; see :func:`matrix.replay`.

        The new run lands in the same folder of runs, unless ``results`` says otherwise.
        """
        from matrix import api

        return api.replay(self.path, session, turn=turn, **{"results": self.path.parent, **more})

    def interview(self, session: str, who: str, question: str, **more: Any) -> Interviewed:
        """Ask somebody of one of its sessions about it; see :func:`matrix.interview`."""
        from matrix import api

        given = {"results": self.path.parent, **more}
        return api.interview(self.path, session, who, question, **given)

    def branch(self, session: str | None = None, **more: Any) -> Run:
        """Play on from moments of its sessions in several variants; see :func:`matrix.branch`.

        The new run lands in the same folder of runs, unless ``results`` says otherwise.
        """
        from matrix import api

        return api.branch(self.path, session, **{"results": self.path.parent, **more})

    def __repr__(self) -> str:
        return f"<matrix.Run {self.id} ({self.status})>"


def open_run(run: str | Path = NEWEST, *, results: str | Path = RESULTS) -> Run:
    """A run by id, unique beginning of an id, path, or ``last``.

    Raises:
        RunNotFound: No such run; the message names near ones.
    """
    return Run(find_run(Path(results), str(run)))


def list_runs(results: str | Path = RESULTS) -> list[ListedRun]:
    """Every run in a results folder, oldest first; one that nobody drives is interrupted."""
    return [
        one
        if one.run is None
        else one._replace(run=standing(one.path, one.run), spent_nano=_spent(one.path, one.run))
        for one in _list_runs(Path(results))
    ]


def _spent(run_dir: Path, run: RunFile) -> int | None:
    """What a run has spent: by its own account once it is complete, else by its journal."""
    totals = run.totals
    if run.status == "complete" or not (run_dir / JOURNAL_NAME).is_file():
        spent = None if totals is None else totals.charged_nano
        # of imported results nothing is no amount where their files do not say it
        if spent or not run.imported:
            return spent
        from matrix.store.reading.told import tells_costs

        return spent if tells_costs(run) else None
    from matrix.engine.governor.money_fold import charged_in

    try:
        return charged_in(run_dir)
    except StoreError:
        return None
