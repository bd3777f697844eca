"""The program without its start: a process that has loaded it, and forks one for each command.

A thousand commands spend most of their time on loading what every one of them loads. A forked
one has a process, a folder, an environment and streams of its own, as a started one has; only what
is imported when Python starts is shared. Commands that change *that* are started (``PYTHONPATH``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NoReturn

import matrix
from matrix.providers.litellm_adapter.library import Library

LOADED = ("pythonjsonlogger", "pandas", "scipy.stats", "jinja2", "pyarrow.dataset")
"""What commands import sooner or later, beside this program; Ray, which reads its variables when it
loads, is not imported by any module of it."""

CONNECTIONS = 1_000
"""Limit of litellm's own transport, which it reads when it loads: above that of any test."""


def may_be_forked(variables: Mapping[str, str]) -> bool:
    """Whether a command with these variables of its own may be forked."""
    return not any(name.startswith("PYTHON") for name in variables)


def run_forked(
    folder: Path,
    args: tuple[str, ...],
    environment: Mapping[str, str],
    stdin: str = "",
    program: str = "matrix.cli.main",
) -> tuple[str, str, int]:
    """Run a command in a folder: its standard output and error, and its exit code.

    ``program`` is the module whose ``main`` it is.
    """
    with tempfile.TemporaryDirectory() as streams:
        files = [str(Path(streams, name)) for name in ("in", "out", "err")]
        Path(files[0]).write_text(stdin, encoding="utf-8")
        wish = {
            "program": program,
            "args": [str(arg) for arg in args],
            "folder": str(folder),
            "environment": dict(environment),
            "files": files,
        }
        code = _server().run(wish)
        out, err = (Path(name).read_bytes().decode() for name in files[1:])
    return out, err, code


class _Server:
    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        clean = {name: value for name, value in os.environ.items() if name[:6] != "MATRIX"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            env=clean | {"LC_ALL": "C.UTF-8"},
            text=True,
        )
        atexit.register(self._end)

    def run(self, wish: Mapping[str, Any]) -> int:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._one_at_a_time:
            stdin.write(json.dumps(wish) + "\n")
            stdin.flush()
            return int(stdout.readline())

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@cache
def _server() -> _Server:
    return _Server()


def serve() -> None:
    """Fork a command for each line of standard input; say its exit code."""
    for name in (*LOADED, *(found.name for found in walk_packages(matrix.__path__, "matrix."))):
        importlib.import_module(name)
    Library(CONNECTIONS)  # litellm takes seconds to load, and starts nothing when it does
    gc.freeze()  # what is there is shared by all of them
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _be(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _be(wish: Mapping[str, Any]) -> NoReturn:
    """Become the command that is wished for."""
    code = 1
    try:
        modes = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
        for number, (name, mode) in enumerate(zip(wish["files"], modes, strict=True)):
            os.dup2(os.open(name, mode), number)
        os.chdir(wish["folder"])
        os.environ.clear()
        os.environ.update(wish["environment"])
        sys.argv = [wish["program"].partition(".")[0], *wish["args"]]
        sys.exit(importlib.import_module(wish["program"]).main(wish["args"]))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # as the interpreter would at the end of a program
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
