"""Whole runs in the forms of other programs: what ``matrix export --to`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, assert_never

from matrix.api.opened import NEWEST, RESULTS, Run, open_run
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.store.reading.reader import RunTables
from matrix.store.run.exports import write_files

ResultsForm = Literal["csv", "inspect", "hf"]
RESULTS_FORMS: Final[tuple[ResultsForm, ...]] = ("csv", "inspect", "hf")


def export_results(
    run: str | Path | Run,
    to: str,
    output: str | Path,
    *,
    results: str | Path = RESULTS,
    force: bool = False,
    notes: list[str] | None = None,
) -> list[Path]:
    """Write a run for another program.

    Args:
        run: The run: id, beginning of one, path, or ``last``.
        to: ``csv``: a file with a row a session, which :func:`import_results` reads back to the
            same comparison; ``inspect``: a folder of logs of inspect_ai, one a variant; ``hf``: a
            folder with the run's tables and a card, which Hugging Face's ``load_dataset`` reads.
        output: The file, or the folder.
        results: Folder of runs.
        force: Replace files that are there.
        notes: What is lost on the way is added to it, in sentences.

    Returns:
        What was written.

    Raises:
        RunNotFound: No such run.
        BadInput: No such form, nothing to write, too much for the form, or files are there already.
        StoreError: A table cannot be read, or the place not be written.
    """
    opened = run if isinstance(run, Run) else open_run(run, results=results)
    form, place = checked_form(to), Path(output)
    if form == "csv":
        text = results_csv(opened, notes=notes)
        return write_files(place.parent, {place.name: text.encode}, force=force)
    tables = RunTables(opened.path)
    if form == "inspect":
        from matrix.report.export.inspect_logs import inspect_logs

        return write_files(place, inspect_logs(tables), force=force)
    if form == "hf":
        from matrix.report.export.dataset import dataset

        return write_files(place, dataset(tables, opened.summary()), force=force)
    assert_never(form)


def checked_form(to: str) -> ResultsForm:
    """The form of this name.

    Raises:
        BadInput: There is none.
    """
    for form in RESULTS_FORMS:
        if form == to:
            return form
    told = f"found {to!r}; can be {', '.join(RESULTS_FORMS)}{did_you_mean(to, RESULTS_FORMS)}"
    raise BadInput([Mistake("--to", None, "", told)])


def results_csv(
    run: str | Path | Run = NEWEST,
    *,
    results: str | Path = RESULTS,
    notes: list[str] | None = None,
) -> str:
    """The text of the ``csv`` form of :func:`export_results`.

    Raises:
        RunNotFound: No such run.
        BadInput: There is nothing to write.
        StoreError: A table cannot be read.
    """
    from matrix.report.export.results_table import losses_of, results_as_csv

    opened = run if isinstance(run, Run) else open_run(run, results=results)
    if notes is not None:
        notes += losses_of(opened.file)
    return results_as_csv(RunTables(opened.path))
