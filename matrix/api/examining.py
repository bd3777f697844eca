"""Looking at everything a run needs before a cent is spent."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from matrix.api.opened import RESULTS
from matrix.api.planning import plan
from matrix.api.runs.budget_draws import budget_of, budgets, least_needed
from matrix.engine.executors.executor import AUTO, AnyExecutor
from matrix.engine.prepare import checkup
from matrix.engine.prepare.checkup import Finding
from matrix.engine.prepare.keys import env_variables, handed, sendings
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run import surroundings
from matrix.model.documents.overrides import Override
from matrix.model.errors import BadInput, StoreError
from matrix.model.money import show_usd


@dataclass(frozen=True, slots=True)
class Checkup:
    """Everything that was looked at, in the order of its telling."""

    findings: tuple[Finding, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing is missing."""
        return all(finding.state != "missing" for finding in self.findings)


_MEANT = "see that this is meant"


def doctor(
    spec: str | Path | None = None,
    *,
    models: Mapping[str, str] | None = None,
    results: str | Path = RESULTS,
    executor: AnyExecutor = AUTO,
    overrides: Iterable[Override] = (),
) -> Checkup:
    """Say what is missing for a run of this spec; nothing is paid for and no request is sent.

    Mistakes in the spec are findings here, not errors. Arguments are those of :func:`matrix.run`.
    """
    findings = surroundings.package_findings()
    findings.append(surroundings.clock_finding(time.time(), surroundings.installed_at()))
    findings.append(surroundings.folder_finding(Path(results)))
    findings.append(surroundings.executor_finding(executor))
    try:
        prepared = plan(spec, models=models, overrides=overrides)
    except BadInput as error:
        findings += _mistakes("spec", error)
    else:
        findings += _of_the_run(prepared)
        findings += _budget(prepared, Path(results))
    return Checkup(tuple(findings))


def _of_the_run(prepared: Prepared) -> list[Finding]:
    return [
        *checkup.plan_findings(prepared),
        *checkup.model_findings(prepared),
        *_keys(prepared),
        *_sent(prepared),
        *checkup.limit_findings(prepared),
        *checkup.schema_findings(prepared.models),
        *map(surroundings.address_finding, checkup.addresses(prepared.models.values())),
        *surroundings.agent_findings(prepared, os.environ),
    ]


def _sent(prepared: Prepared) -> list[Finding]:
    """What goes to other machines, and what agents are given and shown."""
    told = handed(prepared.models, prepared.agents)
    return [Finding("sent", "warn", one, _MEANT) for one in told]


def _keys(prepared: Prepared) -> list[Finding]:
    if prepared.play_money:
        return []
    try:
        in_file = env_variables(prepared.env_file)
    except BadInput as error:
        return _mistakes(prepared.env_file.name, error)
    path = _from_here(prepared.env_file)
    findings = checkup.key_findings(prepared.models, os.environ, in_file, path)
    findings += [
        Finding("key", "warn", told, _MEANT) for told in sendings(prepared.models, os.environ)
    ]
    readable = surroundings.env_file_finding(path)
    return findings if readable is None else [*findings, readable]


def _budget(prepared: Prepared, results: Path) -> list[Finding]:
    budget = budget_of(prepared)
    if budget is None:
        return []
    what = f"budget {budget.name}"
    try:
        states = {state.budget.name: state for state in budgets(results)}
    except StoreError as error:
        return [Finding(what, "missing", str(error), "mend or remove the file")]
    left = states[budget.name].left_of(budget) if budget.name in states else budget.amount
    found = f"{show_usd(left)} left of {show_usd(budget.amount)} per {budget.window}"
    if left < least_needed(prepared).amount:
        return [Finding(what, "missing", found, "`matrix budgets` says when more comes free")]
    return [Finding(what, "ok", found)]


def _from_here(path: Path) -> Path:
    """``path`` as somebody in the working directory would write it."""
    here = Path.cwd().resolve()
    return path.relative_to(here) if here in path.parents else path


def _mistakes(what: str, error: BadInput) -> list[Finding]:
    return [Finding(what, "missing", str(mistake), "correct it") for mistake in error.mistakes]
