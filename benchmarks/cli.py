"""The command line before any work is done: processor time of commands and of imports."""

from __future__ import annotations

import sys
from typing import Final

from benchmarks.figures import Section
from benchmarks.measuring import cpu_of
from benchmarks.runs import matrix_command
from benchmarks.sizes import Sizes

_COMMANDS: Final = (("--help", "< 0.3"), ("run --help", "< 0.3"), ("plan", ""), ("validate", ""))
_MODULES: Final = ("matrix", "matrix.api", "matrix.engine.run.driver", "matrix_actors.executor")


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section; every figure is a median of several runs."""
    repeats = max(5, sizes.repeats)
    for arguments, goal in _COMMANDS:
        command = matrix_command(*arguments.split())
        cpu, wall = cpu_of(command, folder=sizes.folder, repeats=repeats)
        section.add(f"matrix {arguments}: CPU", cpu, "s", f"wall {wall:.2f} s", goal)
    empty, _ = cpu_of([sys.executable, "-c", "pass"], folder=sizes.folder, repeats=repeats)
    section.add("empty Python: CPU", empty, "s", "python -c pass")
    for module in _MODULES:
        command = [sys.executable, "-c", f"import {module}"]
        cpu, wall = cpu_of(command, folder=sizes.folder, repeats=repeats)
        section.add(f"import {module}: CPU", cpu, "s", f"wall {wall:.2f} s, Python included")
    section.note("CPU: user and system seconds of the process and its children, by wait4.")
