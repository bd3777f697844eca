"""Which files have scenarios, and what each is held to; what is wrong is told before any plays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from matrix.api.gating import Gates, check_gates
from matrix.api.planning import plan
from matrix.api.runs.importing import import_results
from matrix.engine.prepare.prepared import Prepared
from matrix.kinds.function.declaring import declared_of
from matrix.kinds.function.source import Scenario, read_source, scenarios_in
from matrix.model.documents.mistakes import together
from matrix.model.documents.overrides import from_flags, from_models
from matrix.model.errors import BadInput, MatrixError, Mistake
from matrix.model.files import read_plain
from matrix.model.wording import speaking_of_flags
from matrix.pytesting import SESSIONS
from matrix.pytesting.playing import ScenarioItem
from matrix.report.gates.gate_wish import GateWish, read_wish
from matrix.store.run.run_folder import DEFAULT_RESULTS

_DECLARES: Final = re.compile(rb"^@(?:\w+\.)?scenario\b", re.MULTILINE)
_FLAGS: Final = ("sessions", "max-cost", "model", "threshold", "baseline", "margin")
_FLAG: Final = re.compile(rf"--(?={'|'.join(_FLAGS)}\b)")


class Scenarios:
    """What pytest asks while it collects."""

    def __init__(self, config: pytest.Config) -> None:
        self._baselines = TemporaryDirectory(prefix="matrix-baselines-")
        config.stash[BASELINES] = Path(self._baselines.name)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        """Files that declare scenarios; others are read and left alone."""
        if file_path.suffix != ".py" or not _declares(file_path):
            return None
        return ScenarioFile.from_parent(parent, path=file_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> Any:
        """A file that was named only for its scenarios is no module of tests."""
        patterns = parent.config.getini("python_files")
        if any(module_path.match(one) for one in patterns) or not _declares(module_path):
            return None
        return _NoTests.from_parent(parent, path=module_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, obj: object) -> Any:
        """A scenario is no test function, whatever it is called."""
        return [] if declared_of(obj) is not None else None

    def pytest_unconfigure(self) -> None:
        """Let go of baselines that were read."""
        self._baselines.cleanup()


BASELINES: Final = pytest.StashKey[Path]()
"""Where baselines are read into."""


def _declares(path: Path) -> bool:
    try:
        text = read_plain(path, 1_000_000)
    except OSError:
        return False
    return b"matrix" in text and _DECLARES.search(text) is not None


class _NoTests(pytest.Module):
    """A module in which nobody looks for tests."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        return []


class ScenarioFile(pytest.File):
    """A file with scenarios."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each of them.

        Raises:
            CollectError: Everything that is wrong, a line each.
        """
        items = []
        mistakes = list[str]()
        try:
            found = scenarios_in(read_source(self.path, self.path.name))
        except MatrixError as error:
            raise self.CollectError("\n".join(_in_flags(error))) from None
        for one in found.values():
            try:
                prepared, gates = self._prepared(one)
            except MatrixError as error:
                mistakes += [self._where_written(line, one) for line in _in_flags(error)]
                continue
            items.append(
                ScenarioItem.from_parent(
                    self,
                    name=one.name,
                    prepared=prepared,
                    gates=gates,
                    results=self.results,
                    line=_line_of(one.target),
                )
            )
        if mistakes:
            raise self.CollectError("\n".join(dict.fromkeys(mistakes)))
        yield from items

    @property
    def results(self) -> str:
        """The folder of runs."""
        return str(self.config.getoption("--matrix-results") or DEFAULT_RESULTS)

    def _prepared(self, scenario: Scenario) -> tuple[Prepared, Gates | None]:
        """A run that could start, and what it is held to.

        Raises:
            MatrixError: Anything wrong with it.
        """
        option = self.config.getoption
        sessions, cap = option("--matrix-sessions"), option("--matrix-max-cost")
        flags = {"sessions": SESSIONS if sessions is None else sessions, "max_cost": cap}
        models, wish = together(
            lambda: from_models(option("--matrix-model") or ()), lambda: self._wish(scenario)
        )
        prepared = plan(f"{self.path}:{scenario.name}", overrides=[*models, *from_flags(flags)])
        if not prepared.play_money and cap is None:
            told = f"{scenario.name} asks real models, so say what it may cost at most"
            raise BadInput([Mistake("--max-cost", None, "", told)])
        return prepared, check_gates(wish, prepared, self.results) if wish.anything else None

    def _wish(self, scenario: Scenario) -> GateWish:
        """What is asked of a scenario: what it declares, and what the options say over it.

        Raises:
            MatrixError: Anything wrong with it.
        """
        option, declared = self.config.getoption, scenario.declared
        over = option("--matrix-threshold") or ()
        named = {one.partition("=")[0].strip() for one in over}
        own = [f"{name}={x!r}" for name, x in declared.thresholds.items() if name not in named]
        baseline = option("--matrix-baseline")
        if baseline is None and declared.baseline:
            baseline = str(self.path.parent / declared.baseline)
        margin = option("--matrix-margin")
        margin = declared.margin if margin is None and baseline is not None else margin
        bad = [*(["threshold"] if over or own else []), *(["regression"] if baseline else [])]
        read = read_wish(baseline, margin, [*own, *over], bad)
        if baseline is None:
            return read
        return GateWish(self._imported(Path(baseline)), margin, read.thresholds, read.fail_on)

    def _where_written(self, line: str, scenario: Scenario) -> str:
        """A line of a message with arguments of the decorator where these, and no option, say it.

        A threshold is what both may have; the line has the name of its metric.
        """
        option, declared = self.config.getoption, scenario.declared
        over = [one.partition("=")[0].strip() for one in option("--matrix-threshold") or ()]
        by_option = any(f"{name!r}" in line or f"{name}=" in line for name in over)
        mine = {
            "thresholds": bool(declared.thresholds) and not by_option,
            "baseline": bool(declared.baseline) and option("--matrix-baseline") is None,
            "margin": bool(declared.baseline) and option("--matrix-margin") is None,
        }
        for name, written in mine.items():
            if written:
                flag = f"--matrix-{name.removesuffix('s')}"
                line = re.sub(rf"(?<![\w-]){flag}(?![\w-])", f"{name}=", line)
        return line

    def _imported(self, path: Path) -> str:
        """Where the results of a baseline file are as a run.

        Raises:
            MatrixError: It cannot be read.
        """
        known = self.config.stash.setdefault(_READ, {})
        if path not in known:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:40] or "baseline"
            folder = self.config.stash[BASELINES] / str(len(known))
            known[path] = str(import_results(path, results=folder, run_id=name).path)
        return known[path]


_READ: Final = pytest.StashKey[dict[Path, str]]()


def _line_of(target: Any) -> int:
    """The line, from 0, at which a function or the first method of a class begins."""
    codes = [getattr(one, "__code__", None) for one in (target, *vars(target).values())]
    return min((code.co_firstlineno - 1 for code in codes if code is not None), default=0)


def _in_flags(error: MatrixError) -> list[str]:
    """The lines of a message with the options of pytest that it is about.

    Whole commands of the program have flags of their own.
    """
    with speaking_of_flags():
        parts = re.split(r"(`matrix [^`]*`)", str(error))
    said = [one if number % 2 else _FLAG.sub("--matrix-", one) for number, one in enumerate(parts)]
    return "".join(said).split("\n")
