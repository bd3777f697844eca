"""The reports of a run: one page, and shorter forms for people and programs elsewhere."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.store.run.run_folder import write_whole

if TYPE_CHECKING:
    from matrix.report.page.known import RunFacts

ReportFormat = Literal["html", "md", "github", "junit", "csv"]
FORMATS: Final[tuple[ReportFormat, ...]] = ("html", "md", "github", "junit", "csv")
PAGE_NAME: Final = "report.html"


def report(
    run: str | Path | Run = NEWEST,
    *,
    form: str = "html",
    session: str = "",
    results: str | Path = RESULTS,
) -> str:
    """A report of a run, or of one of its sessions, as text.

    Args:
        run: The run: id, beginning of one, path, or ``last``.
        form: ``html``: one page, that loads nothing; ``md``: what ``report.md`` has; ``github``: a
            comment for a pull request, in 12 lines at most; ``junit``: what passed and what did
            not, as XML; ``csv``: a line of each session.
        session: Only this session (html and md): its id, its beginning, ``best``, ``worst`` ...
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
    if form == "md":
        from matrix.report.run.report_file import report_as_markdown

        facts = facts_of(opened)
        return report_as_markdown(facts.summary, () if facts.told is None else facts.told.lines)
    if form == "html":
        from matrix.report.page.chapters import page_of
        from matrix.report.page.rendering import page_as_html

        return page_as_html(page_of(facts_of(opened)))
    from matrix.report.page.short_forms import as_csv, as_github, as_junit

    make = {"github": as_github, "junit": as_junit, "csv": as_csv}[form]
    return make(facts_of(opened))


def write_page(run: Run) -> Path:
    """Write ``report.html`` into a run's folder; where it is.

    Raises:
        StoreError: A table cannot be read, or the page not be written.
    """
    write_whole(run.path, PAGE_NAME, report(run))
    return run.path / PAGE_NAME


def facts_of(run: Run) -> RunFacts:
    """All that is known of a run."""
    from matrix.api.runs.kind_reports import kind_report
    from matrix.report.page.known import RunFacts
    from matrix.store.reading.reader import RunTables

    study = None
    with suppress(BadInput):  # it has nothing to compare
        study = run.compare()
    return RunFacts(run.summary(), RunTables(run.path), study, kind_report(run))


def _of_session(run: Run, session: str, form: str) -> str:
    from matrix.report.page.chapters import page_of_session
    from matrix.report.page.rendering import page_as_html

    if form not in ("html", "md"):
        told = f"found {form!r}; a session is told as html or md"
        raise BadInput([Mistake("--format", None, "", told)])
    if form == "md":
        from matrix.api.sessions.exporting import session_report

        return session_report(run, session)
    found = run.session(session).session_id
    return page_as_html(page_of_session(facts_of(run), found))
