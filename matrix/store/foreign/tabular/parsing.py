"""Tables of results as files have them: CSV, Parquet, and JSON objects in lines or in a list."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from matrix.model.documents.json_objects import FieldTwice, each_once
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import open_plain
from matrix.model.lines import delimiter_of
from matrix.store.foreign.results import MOST_BYTES, MOST_ROWS, shown
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.decimals import mixed_thousands, take_commas
from matrix.store.foreign.tabular.table import ForeignTable

_SEPARATOR: Final = re.compile(r'"?sep=([,;\t| ])"?', re.IGNORECASE)
"""A first line by which spreadsheets say what is between cells."""
_MOST_COLUMNS: Final = 2_000
_LONGEST_FIELD: Final = 8_000_000
_LONGEST_DIGITS: Final = 60
_BATCH: Final = 10_000


def mistake_in(source: str, message: str, line: int | None = None) -> BadInput:
    """One mistake of a file."""
    return BadInput([Mistake(source, line, "", message)])


def text_of(content: bytes, source: str) -> str:
    """A file's text: UTF-8, or UTF-16 that says so.

    Raises:
        BadInput: It is neither.
    """
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        told = f"is no {encoding[:6].upper().rstrip('-')} text; save it as UTF-8 (in Excel, Save As"
        told += f" with the type `CSV UTF-8`), or: iconv -f cp1252 -t utf-8 {shlex.quote(source)}"
        told += " > utf-8.csv"
        raise mistake_in(source, told, line) from None


def parse_json(text: str, source: str, line: int | None = None) -> Any:
    """JSON of a stranger; a number of more digits than any has stays text.

    Raises:
        BadInput: It is none, or an object names a field twice, of which one would be lost.
    """

    def whole(digits: str) -> int | str:
        return int(digits) if len(digits) <= _LONGEST_DIGITS else digits

    try:
        return json.loads(text, parse_int=whole, object_pairs_hook=each_once)
    except json.JSONDecodeError as error:
        told = f"is no JSON: {error.msg}"
        raise mistake_in(source, told, (line or 1) + error.lineno - 1) from None
    except FieldTwice as twice:
        told = f"has the field {shown(twice.name)} twice in one object"
        raise mistake_in(source, told, line) from None
    except RecursionError:
        raise mistake_in(source, "is no JSON that is read: it is nested too deep", line) from None


def csv_table(path: Path, content: bytes) -> ForeignTable:
    """A table of text whose first line has its headers.

    Raises:
        BadInput: It is none.
    """
    text, source = text_of(content, str(path)), str(path)
    if "\0" in text[:4096]:
        raise mistake_in(source, "is no text")
    first, _, rest = text.partition("\n")
    skipped, commas, reading = 0, tuple[int, ...](), ""
    if (said := _SEPARATOR.fullmatch(first.strip())) is not None:
        delimiter, text, skipped = said[1], rest, 1
    else:
        delimiter = delimiter_of(first)
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        headers = [name.strip() for name in next(reader, [])]
        _check_headers(headers, source)
        rows = _csv_rows(reader, headers, source, skipped)
    except csv.Error as error:
        told = f"is no CSV: {error}"
        raise mistake_in(source, told, reader.line_num + skipped) from None
    finally:
        csv.field_size_limit(before)
    if delimiter in ";\t" and "," in text:
        commas, doubtful = take_commas(headers, rows)
        if doubtful:
            where = " in a file whose numbers have decimal commas"
            raise BadInput(_of_thousands(source, headers, doubtful, where))
    if doubtful := tuple(mixed_thousands(headers, rows)):
        where = " among whole numbers of as many digits"
        raise BadInput(_of_thousands(source, headers, doubtful, where))
    reading += f", skiprows={skipped}" if skipped else ""
    reading += f", sep={delimiter!r}" if delimiter != "," else ""
    reading += ", decimal=','" if commas else ""
    return ForeignTable(
        source, path.stem, "a table (CSV)", tuple(headers), rows, commas=commas, reading=reading
    )


def _of_thousands(
    source: str, headers: Sequence[str], doubtful: Sequence[tuple[int, str]], where: str
) -> Iterator[Mistake]:
    for place, cell in doubtful:
        told = f"found {shown(cell)}{where}, which may be "
        yield Mistake(
            source, None, headers[place], f"{told}thousands; write its numbers without points"
        )


def _csv_rows(
    reader: Any, headers: Sequence[str], source: str, skipped: int
) -> list[tuple[int, list[Cell]]]:
    rows: list[tuple[int, list[Cell]]] = []
    odd = defaultdict[int, list[int]](list)
    for cells in reader:
        if not any(cells):
            continue
        if len(cells) != len(headers):
            odd[len(cells)].append(reader.line_num + skipped)
        rows.append((reader.line_num + skipped, cells))
        if len(rows) > MOST_ROWS:
            raise mistake_in(source, f"has more than {MOST_ROWS:,} rows")
    if odd:
        raise BadInput(_odd(source, odd, len(headers), len(rows)))
    return rows


def _odd(
    source: str, odd: Mapping[int, Sequence[int]], columns: int, rows: int
) -> Iterator[Mistake]:
    """Lines that have other numbers of cells than the first line has columns."""
    told = f"; the first line has {columns:,} column{'s' * (columns != 1)}"
    if sum(map(len, odd.values())) == rows:
        told += ", and no line has as many: delete what stands before the names of the columns"
    for count, lines in list(odd.items())[:_MOST_ODD]:
        more = " ..." if len(lines) > _MOST_LINES else ""
        listed = ", ".join(map(str, lines[:_MOST_LINES]))
        where = f" in {len(lines):,} rows (lines {listed}{more})" if len(lines) > 1 else ""
        found = f"found {count:,} cell{'s' * (count != 1)}{where}{told}"
        yield Mistake(source, lines[0], "", found)


_MOST_ODD: Final = 20
_MOST_LINES: Final = 3


def _check_headers(headers: Sequence[str], source: str) -> None:
    if not headers or not any(headers):
        raise mistake_in(source, "has no first line with the names of its columns", 1)
    if len(headers) > _MOST_COLUMNS:
        raise mistake_in(source, f"has more than {_MOST_COLUMNS:,} columns", 1)


def objects_table(
    path: Path, objects: Sequence[tuple[int, Any]], *, lines: bool = False
) -> ForeignTable:
    """JSON objects as rows: their fields are columns.

    Args:
        path: The file.
        objects: Line or number of each, and the object.
        lines: Each stands in a line of its own.

    Raises:
        BadInput: One is no object.
    """
    source = str(path)
    if len(objects) > MOST_ROWS:
        raise mistake_in(source, f"has more than {MOST_ROWS:,} rows")
    for line, one in objects:
        if not isinstance(one, dict):
            raise mistake_in(source, "is no object with the fields of a row", line)
    headers = list(dict.fromkeys(name for _, one in objects for name in one))
    _check_headers(headers, source)
    rows = [(line, [_cell(one.get(name)) for name in headers]) for line, one in objects]
    form, reading = ("JSON lines", ", lines=True") if lines else ("JSON", "")
    return ForeignTable(
        *(source, path.stem, f"a table ({form})", tuple(headers), rows),
        reader="read_json",
        reading=reading,
    )


def _cell(value: Any) -> Cell:
    """A field as a cell; what has an inside is its JSON."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def objects_of_lines(path: Path, content: bytes) -> list[tuple[int, Any]]:
    """A JSON object in each line, with the line's number.

    Raises:
        BadInput: A line is none.
    """
    source = str(path)
    lines = enumerate(text_of(content, source).split("\n"), 1)
    return [(line, parse_json(text, source, line)) for line, text in lines if text.strip()]


def parquet_table(path: Path) -> ForeignTable:
    """The columns of a Parquet file that hold plain values.

    Raises:
        BadInput: It cannot be read, or is too large.
        OSError: It cannot be opened.
    """
    source = str(path)
    try:
        with open_plain(path) as handle, pq.ParquetFile(handle) as file:
            schema = file.schema_arrow
            plain = [field.name for field in schema if not pa.types.is_nested(field.type)]
            _check_headers(plain, source)
            if twice := sorted(name for name, count in Counter(plain).items() if count > 1):
                raise mistake_in(source, f"has two columns called {shown(twice[0])}")
            if file.metadata.num_rows > MOST_ROWS:
                raise mistake_in(source, f"has more than {MOST_ROWS:,} rows")
            rows = list(_parquet_rows(file, plain, source))
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.strerror:  # the disk's; Arrow's own has none
            raise
        raise mistake_in(source, f"cannot be read as Parquet: {shown(str(error), 200)}") from None
    return ForeignTable(
        source, path.stem, "a table (Parquet)", tuple(plain), rows, reader="read_parquet"
    )


def _parquet_rows(
    file: pq.ParquetFile, names: Sequence[str], source: str
) -> Iterator[tuple[int, Sequence[Cell]]]:
    read, number = 0, 0
    for batch in file.iter_batches(_BATCH, columns=list(names)):
        read += batch.nbytes
        if read > MOST_BYTES:
            raise mistake_in(source, f"holds more than {MOST_BYTES:,} bytes")
        for row in batch.to_pylist():
            number += 1
            yield number, [_parquet_cell(row[name]) for name in names]


def _parquet_cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    try:
        return float(value)  # a decimal
    except (TypeError, ValueError):
        return str(value)  # a date


def as_objects(value: Any) -> Sequence[Mapping[str, Any]] | None:
    """A list of objects, which is a table; ``None`` for anything else."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return value
    return None
