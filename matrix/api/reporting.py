"""The reports of a run: one page, and shorter forms for people and programs elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.api.runs.kind_reports import kind_report
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.store.run.run_folder import write_whole

if TYPE_CHECKING:
    from matrix.kinds.reporting import RunReport
    from matrix.report.page.charts import Chart
    from matrix.report.page.known import RunFacts
    from matrix.report.run.summary import Summary
    from matrix.report.text import Section

ReportFormat = Literal["html", "md", "github", "junit", "csv"]
FORMATS: Final[tuple[ReportFormat, ...]] = ("html", "md", "github", "junit", "csv")
PAGE_NAME: Final = "report.html"
_MOST_ISSUES: Final = 50


def report(
    run: str | Path | Run = NEWEST,
    *,
    form: str = "html",
    session: str = "",
    transcripts: bool = True,
    results: str | Path = RESULTS,
) -> str:
    """A report of a run, or of one of its sessions, as text.

    Args:
        run: The run: id, beginning of one, path, or ``last``.
        form: ``html``: one page, that loads nothing; ``md``: what ``report.md`` has; ``github``: a
            comment for a pull request, in 12 lines at most; ``junit``: what passed and what did
            not, as XML; ``csv``: a line of each session.
        session: Only this session (html and md): its id, its beginning, ``best``, ``worst`` ...
        transcripts: Whether the page of a run has what was said in sessions.
        results: Folder of runs.

    Raises:
        RunNotFound: No such run.
        SessionNotFound: No such session.
        BadInput: No such form.
        StoreError: A table cannot be read.
    """
    if form not in FORMATS:
        told = f"found {form!r}; a report is one of {', '.join(FORMATS)}"
        raise BadInput([Mistake("--format", None, "", told + did_you_mean(form, FORMATS))])
    opened = run if isinstance(run, Run) else open_run(run, results=results)
    if session:
        return _of_session(opened, session, form)
    if form == "csv":
        from matrix.report.page.short_forms import as_csv
        from matrix.store.reading.reader import RunTables

        return as_csv(RunTables(opened.path))
    of_kind = kind_report(opened)
    if form == "md":
        from matrix.report.run.report_file import report_as_markdown

        lines = () if of_kind is None else of_kind.lines
        return report_as_markdown(opened.summary(), lines, sections_of(opened))
    if form == "html":
        return _page(opened, of_kind, transcripts=transcripts)
    from matrix.report.page.short_forms import as_github, as_junit

    make = {"github": as_github, "junit": as_junit}[form]
    return make(facts_of(opened, of_kind))


def chart(run: Run, name: str) -> Chart:
    """A chart of a run's report, by its name in :class:`~matrix.api.plotting.Plots`.

    Raises:
        BadInput: The run has nothing to draw in it.
        StoreError: A table cannot be read.
    """
    from matrix.report.page.run_charts import CHARTS

    charted = CHARTS[name](facts_of(run, None))
    if charted is None:
        told = f"run {run.id} has nothing to draw in it; `run.report()` has what it came to"
        raise BadInput([Mistake(f"plot.{name}", None, "", told)])
    return charted.chart


def write_page(run: Run, session: str = "", *, told: RunReport | None = None) -> Path:
    """Write the page of a run, or of one of its sessions, into the run's folder; where it is.

    Args:
        run: The run.
        session: Only this session.
        told: What the run's kind says of it, for those who have asked it already.

    Raises:
        SessionNotFound: No such session.
        StoreError: A table cannot be read, or the page not be written.
    """
    if session:
        found = session_id_of(run, session)
        name, text = f"session-{found[:16]}.html", _page_of_session(run, found)
    else:
        name, text = PAGE_NAME, _page(run, told or kind_report(run))
    write_whole(run.path, name, text)
    return run.path / name


def write_markdown(run: Run, summary: Summary, of_kind: Sequence[str] = ()) -> None:
    """Write ``report.md`` of a run; ``of_kind`` is what its kind says of it, line by line.

    Raises:
        StoreError: A table cannot be read, or the report not be written.
    """
    from matrix.report.run.report_file import REPORT_NAME, report_as_markdown

    write_whole(run.path, REPORT_NAME, report_as_markdown(summary, of_kind, sections_of(run)))


def sections_of(run: Run) -> Iterator[Section]:
    """What the report of a run in Markdown has of its sessions by group, and of its issues.

    Raises:
        StoreError: A table cannot be read.
    """
    from matrix.api.grouping import aggregates
    from matrix.report.groups.told import report_sections

    return report_sections(aggregates(run), _MOST_ISSUES)


def _page(run: Run, told: RunReport | None, *, transcripts: bool = True) -> str:
    from matrix.api.grouping import aggregates
    from matrix.report.page.chapters import page_of
    from matrix.report.page.rendering import page_as_html

    facts = facts_of(run, told)._replace(grouped=aggregates(run))
    return page_as_html(page_of(facts, transcripts=transcripts))


def _page_of_session(run: Run, session_id: str) -> str:
    from matrix.report.page.chapters import page_of_session
    from matrix.report.page.rendering import page_as_html
    from matrix.store.reading.reader import RunTables

    return page_as_html(page_of_session(RunTables(run.path), session_id))


def facts_of(run: Run, told: RunReport | None) -> RunFacts:
    """All that a report is made of; ``told`` is what the run's kind says of it."""
    from matrix.report.page.known import RunFacts
    from matrix.report.run.explained import explanation_in
    from matrix.store.reading.reader import RunTables

    study = None
    with suppress(BadInput):  # it has nothing to compare
        study = run.compare()
    return RunFacts(run.summary(), RunTables(run.path), study, told, explanation_in(run.path))


def _of_session(run: Run, session: str, form: str) -> str:
    if form not in ("html", "md"):
        told = f"found {form!r}; a session is told as html or md"
        raise BadInput([Mistake("--format", None, "", told)])
    if form == "md":
        from matrix.api.runs.session_reports import session_report

        return session_report(run, session)
    return _page_of_session(run, session_id_of(run, session))


def session_id_of(run: Run, text: str) -> str:
    """The session that is meant; of imported results their tables say it, as they have no journal.

    Raises:
        SessionNotFound: No such session.
    """
    if not run.file.imported:
        return run.session(text).session_id
    from matrix.report.run.summary import extreme_session
    from matrix.store.journal.transcript import SessionNotFound

    if text in ("best", "worst", "longest", "failed"):
        return extreme_session(run.path, text)
    ids = map(str, run.table("sessions", ["session_id"])["session_id"].to_pylist())
    found = [one for one in ids if one.startswith(text)]
    if len(found) != 1:
        told = f"is the beginning of {len(found):,} sessions" if found else "is no session"
        raise SessionNotFound(f"{text!r} {told} of {run.id}; `sessions` lists their ids")
    return found[0]
