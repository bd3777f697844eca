"""A scenario as a test: it is played, and what it came to passes, fails or is left undecided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix.api.gating import Gates, keep_gate
from matrix.api.opened import Run
from matrix.api.reporting import write_markdown
from matrix.api.runs.lifecycle import start
from matrix.engine.executors.executor import IN_PROCESS
from matrix.engine.prepare.prepared import Prepared
from matrix.model.errors import MatrixError
from matrix.model.lines import harmless
from matrix.report.gates.gating import GateReport
from matrix.report.run.summary_text import head_line, reasons, verdict_line
from matrix.store.run.run_folder import results_flag, resume_command


class ScenarioFailed(Exception):
    """A scenario did not come to what was asked of it; the message is for people, whole."""


class ScenarioItem(pytest.Item):
    """One scenario."""

    def __init__(
        self,
        *,
        prepared: Prepared,
        gates: Gates | None,
        results: str,
        line: int | None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._prepared, self._gates = prepared, gates
        self._results, self._line_number = results, line

    def runtest(self) -> None:
        """Play it, and hold it to its gates.

        Raises:
            ScenarioFailed: One was missed, nothing was scored, or the run did not reach its end.
        """
        run = start(self._prepared, results=self._results, executor=IN_PROCESS)
        gate = None if self._gates is None or run.status != "complete" else self._gates.decide(run)
        if gate is None:
            summary = run.summary()
        else:
            summary = keep_gate(run, gate)
            write_markdown(run, summary)
        verdict = verdict_line(summary) if gate is None else "\n".join(gate.lines)
        self.user_properties += [("matrix_run", run.id), ("matrix_verdict", verdict)]
        if run.file.simulation:
            self.user_properties.append(("matrix_simulated", run.file.simulation))
        where = f"`matrix show {run.id}{results_flag(run.path)} worst` has a session of it"
        if troubles := list(_troubles(run, gate)):
            raise ScenarioFailed(harmless("\n".join([*troubles, f"{head_line(summary)}; {where}"])))
        if open_ := _undecided(gate):
            notes = self._gates.notes if self._gates is not None else ()
            told = harmless("\n".join([*open_, *notes, *_what_decides(gate)]))
            if self.config.getoption("--matrix-fail-undecided"):
                raise ScenarioFailed(f"{told}\n{head_line(summary)}; {where}")
            raise pytest.skip.Exception(told, _use_item_location=True)
        if gate is not None and (gate.endings.errored or (gate.against and gate.against.other)):
            # a test that passes shows nothing else
            self.warn(pytest.PytestWarning(harmless("\n".join(gate.lines))))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Sentences; a traceback of what is a defect only."""
        if isinstance(excinfo.value, ScenarioFailed | MatrixError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands."""
        return self.path, self._line_number, self.name


def _troubles(run: Run, gate: GateReport | None) -> Iterator[str]:
    """Why a run fails the test, in sentences."""
    file = run.file
    if run.status != "complete":
        yield (
            f"the run ended {file.status}: {file.end_reason}; nothing is decided by a part of it "
            f"({resume_command(run.path, file.resume_with)} goes on)"
        )
        yield from file.end_detail.splitlines()
        return
    summary = run.summary()
    if told := summary.endings.problem:
        yield told
        yield from reasons(summary)
    elif gate is not None:
        yield from gate.failures


def _what_decides(gate: GateReport | None) -> list[str]:
    """What to do about it, where more sessions of this run do."""
    short = gate is not None and gate.against is not None and gate.against.lacks_baseline
    return [] if short else ["more sessions decide: --matrix-sessions"]


def _undecided(gate: GateReport | None) -> list[str]:
    """What gates could not decide, in sentences."""
    if gate is None:
        return []
    told = [one.sentence for one in gate.thresholds if one.kind == "not_enough_data"]
    if gate.against is not None and gate.against.kind == "not_enough_data":
        told.insert(0, gate.against.sentence)
    return told
