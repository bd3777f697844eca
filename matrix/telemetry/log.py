"""The log of a run: one line of JSON per event, from every process, in one file.

Underneath is the standard library's logging. Every line is one write at the end of the file, so
that processes do not tear each other's lines; a disk that is full loses lines, never the run.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import orjson

from matrix.model.lines import LOG_LEVELS
from matrix.telemetry.flood import Flood
from matrix.telemetry.redaction import Redactor

LOG_NAME: Final = "log.jsonl"
LEVEL_VARIABLE: Final = "MATRIX_LOG"
LEVELS: Final = LOG_LEVELS
MOST_KEPT: Final = 1_000
"""Lines that wait until they can be sent to the run's log."""
_TELL_OF_LIVES: Final = (b'"run.started"', b'"run.resumed"', b'"process.died"', b'"node.lost"')
LONGEST_TEXT: Final = 2_000
"""Characters of one field; what follows is cut off."""


class Log(Protocol):
    """Takes events. ``session``, ``call`` and other fields say what they are about."""

    def debug(self, event: str, **fields: Any) -> None:
        """Only written when asked for."""
        ...

    def info(self, event: str, **fields: Any) -> None:
        """Part of every run."""
        ...

    def warning(self, event: str, **fields: Any) -> None:
        """Something went wrong and was dealt with."""
        ...

    def error(self, event: str, **fields: Any) -> None:
        """Something went wrong, and a session or the run bears the mark."""
        ...

    def append(self, line: bytes) -> None:
        """Write a line that another process of the run has made."""
        ...

    def close(self) -> None:
        """Write nothing more."""
        ...


class NoLog:
    """Takes events and forgets them."""

    def debug(self, event: str, **fields: Any) -> None: ...

    def info(self, event: str, **fields: Any) -> None: ...

    def warning(self, event: str, **fields: Any) -> None: ...

    def error(self, event: str, **fields: Any) -> None: ...

    def append(self, line: bytes) -> None: ...

    def close(self) -> None: ...


NO_LOG: Final[Log] = NoLog()


Write = Callable[[bytes], None]
"""Takes a line, without its end."""


class Forward:
    """Takes lines for a log elsewhere; keeps them until somebody sends them on."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._send: Write | None = None

    def __call__(self, line: bytes) -> None:
        """Send a line on, or keep it."""
        if self._send is not None:
            self._send(line)
        elif len(self._kept) < MOST_KEPT:
            self._kept.append(line)

    def attach(self, send: Write | None) -> None:
        """Send what was kept, and all that comes; with ``None``, keep again."""
        self._send = send
        if send is not None:
            kept, self._kept = self._kept, []
            for line in kept:
                send(line)


class EventLog:
    """The events of one process of a run."""

    def __init__(
        self,
        path: Path | Write,
        process: str,
        redactor: Redactor,
        *,
        level: str = "info",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the log for appending.

        Args:
            path: The log, whose folder has to be there; or who takes its lines.
            process: Who writes.
            redactor: Takes secrets out of every field.
            level: The least that is written: one of :data:`LEVELS`.
            clock: Seconds, for telling a flood.

        Raises:
            OSError: It cannot be written.
        """
        from pythonjsonlogger.orjson import OrjsonFormatter  # a tenth of a second, if not loaded

        self._handler = _LineHandler(_File(path) if isinstance(path, Path) else path)
        self._handler.setFormatter(
            OrjsonFormatter(
                ["levelname"],
                rename_fields={"levelname": "level"},
                static_fields={"process": process},
                timestamp="time",
            )
        )
        self._handler.addFilter(RedactingFilter(redactor))
        self._logger = logging.getLogger(f"matrix.runs.{process}.{id(self):x}")
        self._logger.propagate = False
        self._logger.setLevel(level.upper())
        self._logger.addHandler(self._handler)
        self._flood, self._clock = Flood(), clock

    def debug(self, event: str, **fields: Any) -> None:
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write(logging.ERROR, event, fields)

    def append(self, line: bytes) -> None:
        self._handler.write(line)

    def close(self) -> None:
        """Tell of what was held back, and close the file."""
        for kind, count in self._flood.left().items():
            self._logger.warning({"event": "log.held_back", "of": kind, "held_back": count})
        self._logger.removeHandler(self._handler)
        self._handler.close()

    def _write(self, level: int, event: str, fields: Mapping[str, Any]) -> None:
        if not self._logger.isEnabledFor(level):
            return
        kind = " ".join((event, str(fields.get("error", "")), str(fields.get("model", ""))))
        held_back = self._flood.admit(kind.strip(), self._clock())
        if held_back is None:
            return
        more = {"held_back": held_back} if held_back else {}
        self._logger.log(level, {"event": event, **fields, **more})


class RedactingFilter(logging.Filter):
    """Takes secrets out of every record that passes."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        said: Any = record.msg if isinstance(record.msg, dict) else record.getMessage()
        record.msg, record.args = self._shortened(self._redactor.value(said)), ()
        return True

    def _shortened(self, value: Any) -> Any:
        if isinstance(value, str):
            return value[:LONGEST_TEXT]
        if isinstance(value, dict):
            return {key: self._shortened(item) for key, item in value.items()}
        return value


class _LineHandler(logging.Handler):
    """Appends each line with one write."""

    def __init__(self, place: _File | Write) -> None:
        super().__init__()
        self._place = place

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(TypeError):  # a value that is no JSON: the run goes on
            self.write(self.format(record).encode(errors="replace"))

    def write(self, line: bytes) -> None:
        """Write a line as it is."""
        with suppress(OSError):  # no space: the run goes on
            self._place(line)

    def close(self) -> None:
        if isinstance(self._place, _File):
            self._place.close()
        super().close()


class _File:
    """A file that every line is appended to with one write."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def __call__(self, line: bytes) -> None:
        os.write(self._file, line + b"\n")

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class EarlierLives(NamedTuple):
    """What a run's log tells of the run so far.

    ``number`` and ``trace`` are of its newest life; ``processes`` and ``nodes`` were lost in all.
    """

    number: int = 0
    trace: str = ""
    processes: int = 0
    nodes: int = 0


def lives_in_log(path: Path) -> EarlierLives:
    """The lives of a run, as its log tells, which also knows of those that ended without a word.

    Lines that were torn by a crash are passed over, and so are those of no such log.
    """
    number, trace, nodes = 0, "", 0
    dead: set[tuple[int, str]] = set()  # a process of one name may die once in every life
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return EarlierLives()
    for line in lines:
        if not any(name in line for name in _TELL_OF_LIVES):
            continue
        try:
            match orjson.loads(line):
                case {"event": "run.started" | "run.resumed", "life": int(life), "trace": str(of)}:
                    number, trace = life, of
                case {"event": "process.died", "dead": str(process)}:
                    dead.add((number, process))
                case {"event": "node.lost", **said}:
                    nodes += 1 + (held if isinstance(held := said.get("held_back"), int) else 0)
        except orjson.JSONDecodeError:
            continue
    return EarlierLives(number, trace, len(dead), nodes)


def level_in(environ: Mapping[str, str]) -> str:
    """The level that ``MATRIX_LOG`` asks for; ``info`` if it says nothing sensible."""
    asked = environ.get(LEVEL_VARIABLE, "").strip().lower()
    return asked if asked in LEVELS else "info"
