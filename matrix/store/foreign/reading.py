"""Files of results of any form, told apart by what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import open_plain, read_plain
from matrix.model.lines import in_line
from matrix.store.foreign.cleaning import Cleaning
from matrix.store.foreign.exported import is_exported, read_exported
from matrix.store.foreign.inspect_logs import (
    InspectLog,
    is_log,
    log_of_json,
    log_of_zip,
    read_logs,
    tables_of,
)
from matrix.store.foreign.promptfoo import are_results, read_promptfoo, results_in
from matrix.store.foreign.results import (
    LONGEST_NAME,
    MOST_BYTES,
    MOST_ROWS,
    ForeignResults,
    RowFaults,
    Wishes,
    alike_in,
    with_known_costs,
)
from matrix.store.foreign.tabular.parsing import (
    as_objects,
    csv_table,
    mistake_in,
    objects_of_lines,
    objects_table,
    parquet_table,
    parse_json,
    text_of,
)
from matrix.store.foreign.tabular.results import read_tables
from matrix.store.foreign.tabular.table import ForeignTable

_ZIP: Final = b"PK\x03\x04"
_PARQUET: Final = b"PAR1"
_PARQUET_NAMES: Final = (".parquet", ".pq")
_EXCEL: Final = b"\xd0\xcf\x11\xe0"
"""How a workbook of the older form begins."""
_PACKED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""How files of gzip, bzip2, xz and zstd begin."""

FORMS: Final = (
    "promptfoo's results (JSON), logs of inspect_ai (.eval or .json), CSV, Parquet, JSON lines"
)

_FILE: Final = "file"
"""What variants differ in where each file is one."""
_MOST_FILES: Final = 1_000
"""Logs of one folder."""

_Read = ForeignTable | InspectLog | ForeignResults


def read_results(
    paths: Sequence[Path], wishes: Wishes, secrets: Collection[str] = ()
) -> ForeignResults:
    """The results in files of one form.

    Args:
        paths: The files.
        wishes: What the user says of the columns.
        secrets: Values that are taken out of every text.

    Raises:
        BadInput: Every mistake in all of them.
    """
    mistakes = Mistakes()
    mistakes.collect(lambda: _refuse_twice(paths))
    clean = Cleaning(secrets)
    found = [
        mistakes.collect(lambda path=path: _cleaned(_read(path, clean), clean))  # type: ignore[misc]
        for path in paths
    ]
    mistakes.stop_if_any()
    read: list[_Read] = [one for one in found if one is not None]
    tables = [one for one in read if isinstance(one, ForeignTable)]
    logs = [one for one in read if isinstance(one, InspectLog)]
    own = [one for one in read if isinstance(one, ForeignResults)]
    forms = {(one.form, one.factors) for one in own}
    if max(len(tables), len(logs), len(own)) < len(read) or len(forms) > 1:
        told = "files of one import are of one form; import others by themselves"
        raise mistake_in(str(paths[-1]), told)
    brought = tables or tables_of(logs)
    if brought and not wishes.flags() and all(map(is_exported, brought)):
        results = read_exported(brought)
    elif tables:
        results = read_tables(tables, wishes)
    else:
        _refuse_columns(wishes, "promptfoo" if own else "inspect_ai", score=bool(logs))
        stems = [clean.text(path.stem) for path in paths]
        results = read_logs(logs, wishes.score) if logs else _joined(own, stems)
    results = with_known_costs(results)
    if len(results.rows) > MOST_ROWS:
        raise mistake_in(str(paths[-1]), f"has more than {MOST_ROWS:,} rows, with the others")
    faults = RowFaults(str(paths[0]))
    for told in alike_in(results):
        faults.say(None, "", told)
    faults.stop_if_any()
    return results


def _refuse_twice(paths: Sequence[Path]) -> None:
    """See that no file is there twice, by name or by what is in it: a result counts once.

    Raises:
        BadInput: One is.
    """
    found, seen = list[Mistake](), dict[tuple[int, bytes], Path]()
    plain = [path for path in paths if path.is_file()]
    sizes = Counter(path.stat().st_size for path in plain)
    for path in plain:
        size = path.stat().st_size
        if sizes[size] < 2 or size > MOST_BYTES:
            continue
        try:
            key = size, sha256(read_plain(path, MOST_BYTES)).digest()
        except OSError:
            continue  # is told where it is read
        if key in seen:
            told = f"is given twice: {in_line(str(seen[key]))} has the same content; leave one "
            found.append(Mistake(str(path), None, "", f"{told}out, as results count once"))
        seen.setdefault(key, path)
    if found:
        raise BadInput(found)


def _joined(own: Sequence[ForeignResults], stems: Sequence[str]) -> ForeignResults:
    """All results of files; where two have the same unit of a variant, each file is a variant."""
    seen: dict[tuple[object, ...], int] = {}
    files = enumerate(one.rows for one in own)
    keys = (((row.levels, row.unit), file) for file, rows in files for row in rows)
    again = any(seen.setdefault(key, file) != file for key, file in keys)
    if not again:
        return own[0]._replace(rows=[row for one in own for row in one.rows])
    names = [in_line(stem[:LONGEST_NAME]) for stem in stems]
    rows = [
        row._replace(levels=(name, *row.levels))
        for name, one in zip(names, own, strict=True)
        for row in one.rows
    ]
    factors = (_FILE, *own[0].factors)
    taken = tuple(
        (label, ", ".join(factors) if label == "variant" else text) for label, text in own[0].taken
    )
    remedy = "give each file a name of its own, as each is a variant"
    return own[0]._replace(factors=factors, rows=rows, taken=taken, twice=remedy)


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that are named: of a folder its logs, which are ``.eval`` or else ``.json``.

    Raises:
        BadInput: A folder has none, too many, or cannot be read.
    """
    mistakes = Mistakes()
    found = [mistakes.collect(lambda path=path: _in_folder(path)) for path in paths]  # type: ignore[misc]
    mistakes.stop_if_any()
    return [path for own in found for path in own or []]


def _in_folder(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        inside = sorted(one for one in path.iterdir() if not one.name.startswith("."))
    except OSError as error:
        raise mistake_in(str(path), f"cannot be read: {error.strerror}") from None
    for ending in (".eval", ".json"):
        found = [one for one in inside if one.suffix.lower() == ending]
        if len(found) > _MOST_FILES:
            told = (
                f"has {len(found):,} {ending} files, and at most {_MOST_FILES:,} are read at once"
            )
            raise mistake_in(str(path), told)
        if found:
            return found
    told = "is a folder without logs (.eval or .json); name the files, such as "
    raise mistake_in(str(path), f"{told}{path / '*.csv'}")


def _refuse_columns(wishes: Wishes, whose: str, *, score: bool) -> None:
    """Columns are of tables: other forms say themselves what is what.

    Raises:
        BadInput: One was named.
    """
    said = [flag for flag in wishes.flags() if not (score and flag == "--score")]
    told = f"is for columns of a table, and results of {whose} say themselves what is what"
    if said:
        raise BadInput(Mistake(flag, None, "", told) for flag in said)


def _cleaned(read: _Read, clean: Cleaning) -> _Read:
    """A file's own words without what must not be kept, before any of them is cut."""
    if isinstance(read, ForeignTable):
        clean.inside([cells for _, cells in read.rows])
        headers = tuple(map(clean.text, read.headers))
        return read._replace(stem=clean.text(read.stem), headers=headers)
    if isinstance(read, InspectLog):
        whole: dict[str, Any] = {"said": read.said, "samples": read.samples}
        clean.inside(whole)
        return read._replace(stem=clean.text(read.stem), **whole)
    return read  # was cleaned as JSON


def _read(path: Path, clean: Cleaning) -> _Read:
    """One file.

    Raises:
        BadInput: Every mistake in it.
    """
    source = str(path)
    try:
        with open_plain(path) as handle:
            head = handle.read(4)
            if head == _ZIP:
                return log_of_zip(path, handle)
        if head == _PARQUET:
            return parquet_table(path)
        content = read_plain(path, MOST_BYTES)
    except OSError as error:
        raise mistake_in(source, f"cannot be read: {error.strerror}") from None
    if path.suffix.lower() in _PARQUET_NAMES:
        raise mistake_in(source, "is no Parquet file, though it is called one")
    if content.startswith(_EXCEL):
        raise mistake_in(source, "is an Excel workbook; save the sheet as CSV")
    if content.startswith(_PACKED):
        raise mistake_in(source, "is packed, and what is packed is not read; unpack it first")
    if not content.strip():
        raise mistake_in(source, f"is empty; what is read: {FORMS}")
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return _of_json(path, content, clean)
    return csv_table(path, content)


def _of_json(path: Path, content: bytes, clean: Cleaning) -> _Read:
    source = str(path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _of_lines(path, content, clean)
    try:
        value = parse_json(text_of(content, source), source)
    except BadInput:
        if b"\n" in content and content.lstrip().partition(b"\n")[0].rstrip().endswith(b"}"):
            return _of_lines(path, content, clean)
        raise
    if is_log(value):
        return log_of_json(path, value)
    if (found := results_in(value)) is not None:
        clean.inside(value)
        return read_promptfoo(source, found)
    if (objects := as_objects(value)) is not None:
        return objects_table(path, list(enumerate(objects, 1)))
    raise mistake_in(source, f"is JSON of no known form; what is read: {FORMS}")


def _of_lines(path: Path, content: bytes, clean: Cleaning) -> _Read:
    found = objects_of_lines(path, content)
    values = [value for _, value in found]
    if are_results(values):
        clean.inside(values)
        return read_promptfoo(str(path), values)
    return objects_table(path, found, lines=True)
