"""Logs of inspect_ai: ``.eval``, a zip of JSON (today packed by zstd), and the older ``.json``.

What a log says of its samples in short (``summaries.json``) is read where it is there: the samples
themselves hold every event, and are many times as large.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import pyarrow as pa

from matrix.model.errors import BadInput
from matrix.model.lines import in_line
from matrix.store.foreign.exported import FACTS
from matrix.store.foreign.results import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_BYTES,
    MOST_ROWS,
    ForeignResults,
    ForeignRow,
    RowFaults,
    shown,
)
from matrix.store.foreign.tabular.numbers import number_of
from matrix.store.foreign.tabular.parsing import mistake_in, parse_json, text_of
from matrix.store.foreign.tabular.table import ForeignTable

_MOST_ENTRIES: Final = 200_000
_ZSTD: Final = 93
"""How a zip says that an entry is packed by zstd."""
_LOCAL: Final = struct.Struct("<4s22xHH")
"""What stands before an entry: its mark, and how long its name and what is added to that are."""
_LOCAL_MARK: Final = b"PK\x03\x04"
_ENCRYPTED: Final = 1
_PART: Final = 1 << 18
"""Bytes that are unpacked at once."""
_MOST_AMOUNT: Final = 1e9
RUN_FACTS: Final = "matrix_run"
RESULT: Final = "matrix_result"
ROW: Final = "matrix_row"
"""What a log of a run of ours has in its metadata, and each of its samples: the run's results as
`matrix export --to csv` has them, and the number of the row."""
_ENDED: Final = "header.json"
_VALUES: Final = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What inspect_ai's scorers say for correct, incorrect, partly correct and no answer."""


_WHOLE: Final = "success"
"""How a log says that it came to its end."""


class InspectLog(NamedTuple):
    """One log: its file, what ``eval`` says of it, its samples, and how it says it ended."""

    source: str
    stem: str
    said: Mapping[str, Any]
    samples: Sequence[Any]
    status: str = _WHOLE


def is_log(value: Any) -> bool:
    """Whether JSON is a log of inspect_ai."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("eval"), dict)
        and {"samples", "status"} <= value.keys()
    )


def log_of_json(path: Path, value: Mapping[str, Any]) -> InspectLog:
    """A log that is one JSON file."""
    samples = value.get("samples")
    return InspectLog(
        str(path),
        path.stem,
        value["eval"],
        samples if isinstance(samples, list) else [],
        _status(value),
    )


def log_of_zip(path: Path, handle: IO[bytes]) -> InspectLog:
    """A log that is a zip; no more of it is unpacked than a file may have.

    Raises:
        BadInput: It is none, or too large.
    """
    source = str(path)
    try:
        with zipfile.ZipFile(handle) as archive:
            return _unpacked(path.stem, _Unpacking(source, archive, handle))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        told = f"is no .eval file that can be read: {in_line(str(error))[:200]}"
        raise mistake_in(source, told) from None
    except (OSError, ValueError, zlib.error) as error:
        told = f"is damaged: {in_line(str(error))[:200]}"
        raise mistake_in(source, told) from None


class _Unpacking:
    """Entries of a zip, as long as they come to no more than a file may have."""

    def __init__(self, source: str, archive: zipfile.ZipFile, handle: IO[bytes]) -> None:
        self.source, self.names = source, archive.namelist()
        self._archive, self._handle = archive, handle
        self._left = MOST_BYTES

    def json(self, name: str) -> Any:
        content = self._content(self._archive.getinfo(name))
        self._left -= len(content)
        if self._left < 0:
            told = f"unpacks to more than {MOST_BYTES:,} bytes, so it is not read"
            raise mistake_in(self.source, told)
        return parse_json(text_of(content, f"{self.source}: {name}"), f"{self.source}: {name}")

    def _content(self, entry: zipfile.ZipInfo) -> bytes:
        """An entry, or its beginning if that is more than is left; sizes are a stranger's word."""
        if entry.compress_type == _ZSTD:
            return self._by_zstd(entry)
        with self._archive.open(entry) as file:
            return file.read(self._left + 1)

    def _by_zstd(self, entry: zipfile.ZipInfo) -> bytes:
        """The same of what the standard library cannot unpack before Python 3.14.

        Source: APPNOTE.TXT 6.3.10 of PKWARE, 4.3.7 (local file header) and 4.4.5 (method 93).
        """
        self._handle.seek(entry.header_offset)
        header = self._handle.read(_LOCAL.size)
        if len(header) < _LOCAL.size or entry.flag_bits & _ENCRYPTED:
            raise zipfile.BadZipFile(f"{entry.filename} is cut off or encrypted")
        mark, name, extra = _LOCAL.unpack(header)
        if mark != _LOCAL_MARK:
            raise zipfile.BadZipFile(f"Bad magic number for {entry.filename}")
        self._handle.seek(name + extra, 1)
        packed = self._handle.read(min(entry.compress_size, MOST_BYTES))
        content = bytearray()
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while len(content) <= self._left and (part := stream.read(_PART)):
                content += part
        if len(content) <= self._left and zlib.crc32(content) != entry.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {entry.filename!r}")
        return bytes(content)


def _unpacked(stem: str, unpacking: _Unpacking) -> InspectLog:
    source, names = unpacking.source, unpacking.names
    if any(name.startswith("xl/") for name in names):
        raise mistake_in(source, "is an Excel workbook; save the sheet as CSV")
    if len(names) > _MOST_ENTRIES:
        raise mistake_in(source, f"has more than {_MOST_ENTRIES:,} entries")
    head = next((one for one in (_ENDED, "_journal/start.json") if one in names), None)
    header = unpacking.json(head) if head is not None else None
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise mistake_in(source, "is no .eval file: nothing in it says what was evaluated")
    # what a log was begun with has no word of its end
    status = _status(header) if head == _ENDED else "started"
    return InspectLog(source, stem, header["eval"], list(_samples(names, unpacking)), status)


def _status(value: Mapping[str, Any]) -> str:
    found = value.get("status", _WHOLE)
    return in_line(found[:LONGEST_NAME]) if isinstance(found, str) else _WHOLE


def _samples(names: Sequence[str], unpacking: _Unpacking) -> Iterator[Any]:
    if "summaries.json" in names:
        found = unpacking.json("summaries.json")
        yield from found if isinstance(found, list) else []
        return
    for name in sorted(names):
        if name.startswith("samples/") and name.endswith(".json"):
            yield unpacking.json(name)
        elif name.startswith("_journal/summaries/") and not any(
            one.startswith("samples/") for one in names
        ):
            found = unpacking.json(name)
            yield from found if isinstance(found, list) else []


def tables_of(logs: Sequence[InspectLog]) -> list[ForeignTable]:
    """The results that logs of our own runs bring along, a table for each run.

    Empty where not every log and every sample has them: then they are logs as any others.
    """
    rows = dict[str, list[tuple[int, tuple[str, ...]]]]()
    first = dict[str, InspectLog]()
    headers = dict[str, tuple[str, ...]]()
    for log in logs:
        facts = _metadata(log.said).get(RUN_FACTS)
        if not isinstance(facts, str) or not log.samples:
            return []
        first.setdefault(facts, log)
        for sample in log.samples:
            one, row = _metadata(sample).get(RESULT), _metadata(sample).get(ROW)
            if not isinstance(one, dict) or not isinstance(row, int):
                return []
            if not all(isinstance(text, str) for text in one.values()):
                return []
            if headers.setdefault(facts, tuple(one)) != tuple(one):
                return []
            rows.setdefault(facts, []).append((row, tuple(one.values())))
    return [
        ForeignTable(
            source=first[facts].source,
            stem=first[facts].stem,
            form="logs of inspect_ai",
            headers=(*headers[facts], FACTS),
            rows=[
                (at, (*cells, facts if at == 1 else ""))
                for at, (_, cells) in enumerate(sorted(own), 1)
            ],
        )
        for facts, own in rows.items()
    ]


def _metadata(value: Any) -> Mapping[str, Any]:
    found = value.get("metadata") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def read_logs(logs: Sequence[InspectLog], score: str | None) -> ForeignResults:
    """Results of logs: variants are models, scenarios tasks, units samples, repeats epochs.

    Logs of the same model and task are variants by their files' names, too.

    Args:
        logs: At least one.
        score: Which score decides, by the scorer's name; where it is left out, ``score`` or the
            first that a log names.

    Raises:
        BadInput: Every mistake in all of them.
    """
    faults = RowFaults(logs[0].source)
    named = [(_word(log.said, "task"), _word(log.said, "model")) for log in logs]
    alike = len(set(named)) < len(named)
    # then a model is in some logs only, and logs of several models pair nothing within a model
    several = alike and len({model for _, model in named}) > 1
    tasks = len({task for task, _ in named}) > 1
    scorers = list(dict.fromkeys(name for log in logs for name in _scorers(log.samples)))
    named_first = [name for log in logs for name in ("score", *_declared(log.said))]
    usual = next((name for name in named_first if name in scorers), "")
    chosen = score or usual or (scorers[0] if scorers else "")
    if score is not None and score not in scorers:
        faults.say(None, "--score", f"found {score!r}; scores are {', '.join(scorers) or 'none'}")
    rows: list[ForeignRow] = []
    mistakes = list(faults.mistakes)
    for log, (task, model) in zip(logs, named, strict=True):
        own = RowFaults(log.source, "samples")
        if not log.samples:
            own.say(None, "", "has no samples")
        if len(log.samples) > MOST_ROWS:
            own.say(None, "", f"has more than {MOST_ROWS:,} samples")
            own.stop_if_any()
        stem = log.stem[:LONGEST_NAME]
        levels = (f"{stem}: {model}"[:LONGEST_NAME],) if several else (model, stem)
        levels = levels if alike else (model,)
        rows += [
            _row(log.source, number, one, levels, task if tasks else "", chosen, own)
            for number, one in enumerate(log.samples)
        ]
        mistakes += own.mistakes
    if mistakes:
        raise BadInput(mistakes)
    factors = (("log",) if several else ("model", "log")) if alike else ("model",)
    taken = [
        ("variant", ", ".join(factors)),
        ("unit", "id of the sample"),
        ("repeat", "epoch"),
        ("score", chosen or "none"),
        *([("scenario", "task")] if tasks else []),
        ("metrics", ", ".join(name for name in scorers if name != chosen)),
    ]
    told = tuple((label, text) for label, text in taken if text)
    return ForeignResults(
        "logs of inspect_ai",
        factors,
        rows,
        "sample",
        told,
        tells_failures=True,
        notes=tuple(
            f"The log {shown(log.stem)} says {shown(log.status)} of itself and not that it came to "
            f"its end: what it has ({len(log.samples):,} samples) may be a part."
            for log in logs
            if log.status != _WHOLE
        ),
        simulated=any(map(_is_simulated, (one for log in logs for one in log.samples))),
        score_name=chosen,
        twice="keep one of them: repeats of a sample are told apart by its epoch",
    )


def _is_simulated(sample: Any) -> bool:
    """Whether ``matrix export`` wrote of it that a simulated model plays in it."""
    return bool(_metadata(sample).get("simulated"))


def _word(said: Mapping[str, Any], field: str) -> str:
    found = said.get(field)
    text = in_line(found[:LONGEST_NAME]) if isinstance(found, str) else ""
    return text or f"unnamed {field}"


def _scorers(samples: Sequence[Any]) -> Iterator[str]:
    for one in samples:
        scores = one.get("scores") if isinstance(one, dict) else None
        for name, value in _values(scores if isinstance(scores, dict) else {}):
            if not isinstance(value, str) or value in _VALUES or isinstance(_value(value), float):
                yield name


def _declared(said: Mapping[str, Any]) -> Iterator[str]:
    """Names of the scorers that a log was made with, in its order."""
    found = said.get("scorers")
    for one in found if isinstance(found, list) else []:
        name = one.get("name") if isinstance(one, dict) else None
        if isinstance(name, str):
            yield in_line(name[:LONGEST_NAME])


def _values(scores: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of scores; of one that has several, each."""
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        short = in_line(str(name)[:LONGEST_NAME])
        if isinstance(value, dict):
            yield from ((f"{short}.{in_line(str(key)[:40])}", one) for key, one in value.items())
        elif not isinstance(value, list):
            yield short, value


def _value(value: Any) -> float | str | None:
    if isinstance(value, str) and value in _VALUES:
        return _VALUES[value]
    if isinstance(value, float) and value != value:
        return None  # what inspect_ai writes for a sample that was not scored
    return number_of(value, words=True)


def _row(
    source: str,
    number: int,
    sample: Any,
    levels: tuple[str, ...],
    scenario: str,
    chosen: str,
    faults: RowFaults,
) -> ForeignRow:
    where = f"samples[{number}]"
    if not isinstance(sample, dict):
        faults.say(number, "", "is no object")
        sample = {}
    scores = sample.get("scores")
    read = {
        name: _value(value) for name, value in _values(scores if isinstance(scores, dict) else {})
    }
    for name in (chosen,) if isinstance(read.get(chosen), str) else ():
        faults.say(number, f"scores.{name}", str(read[name]))
    numbers = {name: one for name, one in read.items() if isinstance(one, float)}
    error = sample.get("error")
    if isinstance(error, dict):
        error = error.get("message") or "error"
    usage = _usage(sample.get("model_usage"))
    took = number_of(sample.get("total_time"))
    return ForeignRow(
        where=f"{source}: {where}",
        unit=str(sample.get("id", "")),
        levels=levels,
        scenario=scenario,
        repeat=str(sample.get("epoch", 1)),
        score=None if error else numbers.get(chosen),
        error=str(error) if error else "",
        cost_usd=usage.get("total_cost"),
        duration_s=took if isinstance(took, float) and 0 <= took <= _MOST_AMOUNT else 0.0,
        tokens_in=int(usage.get("input_tokens", 0)),
        tokens_out=int(usage.get("output_tokens", 0)),
        metrics={name: one for name, one in numbers.items() if name != chosen},
        said=tuple(
            (who, text[:LONGEST_TEXT])
            for who, text in (("user", _input(sample)), ("assistant", _output(sample)))
            if text
        ),
    )


def _usage(models: Any) -> dict[str, float]:
    """Tokens and money of all models that took part."""
    found: dict[str, float] = {}
    for one in models.values() if isinstance(models, dict) else ():
        for name in ("input_tokens", "output_tokens", "total_cost"):
            value = number_of(one.get(name)) if isinstance(one, dict) else None
            if isinstance(value, float) and 0 <= value <= _MOST_AMOUNT:
                found[name] = min(found.get(name, 0.0) + value, _MOST_AMOUNT)
    return found


def _input(sample: Mapping[str, Any]) -> str:
    found = sample.get("input")
    if isinstance(found, list):
        texts = [one.get("content") for one in found if isinstance(one, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return found if isinstance(found, str) else ""


def _output(sample: Mapping[str, Any]) -> str:
    output = sample.get("output")
    found = output.get("completion") if isinstance(output, dict) else None
    return found if isinstance(found, str) else ""
