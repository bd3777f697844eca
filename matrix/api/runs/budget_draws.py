"""A run's draw on a rolling budget, from before it starts until it has ended."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from matrix.api.opened import RESULTS
from matrix.engine.governor.money_fold import MoneyFold
from matrix.engine.prepare.prepared import Prepared
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import BadInput, MatrixError, Mistake
from matrix.model.money import NanoUSD, from_usd, show_usd, to_usd
from matrix.model.spec.budgets import Bound, Budget, parse_budget
from matrix.model.spec.run_spec import Limits
from matrix.store.run.made_here import is_made_here
from matrix.store.run.run_folder import RUN_ID, read_run
from matrix.store.shared.budgets import BudgetFile, BudgetState, SpentRun


@dataclass(slots=True)
class Draw:
    """What a run may spend.

    Attributes:
        prepared: The run under the cap that holds for it: its own, or what its budget has left.
        reduced: Why the cap is lower than the run's own; empty where it is not.
        reserved: What was set aside; empty without a budget.
        started: Whether money may have been spent; set before the first process comes up.
        spent: What the run has spent in all its lives, once it has ended.
        bound: The cap that the budget has left it, where that is lower than its own.
    """

    prepared: Prepared
    reduced: str = ""
    reserved: str = ""
    started: bool = False
    spent: NanoUSD | None = None
    bound: Bound | None = None


def budget_of(prepared: Prepared) -> Budget | None:
    """The budget of a run; simulated money has one of its own, so that no real one is eaten."""
    text = prepared.spec.limits.budget
    if text is None:
        return None
    budget = parse_budget(text)
    return replace(budget, name=f"{budget.name} (simulated)") if prepared.play_money else budget


class Least(NamedTuple):
    """The least money that a run is worth starting for, and what it buys."""

    amount: NanoUSD
    buys: str


def least_needed(prepared: Prepared, *, begun: bool = False) -> Least:
    """What a budget has to have for a run: a call; for a new one in whole rounds, a round."""
    if prepared.spec.at_cap == "whole-rounds" and not begun:
        return Least(max(prepared.round_cost.high, prepared.call_cost), "one round")
    return Least(max(1, prepared.call_cost), "one call")


@contextmanager
def budget_draw(
    prepared: Prepared,
    results: Path,
    run: str,
    clock: Callable[[], float],
    *,
    spent: NanoUSD | None = None,
) -> Iterator[Draw]:
    """Hold a run's reservation while it is alive; without a budget, only hand out its own cap.

    A run that never started gives its reservation back, one that ended keeps what it spent, and
    one that stopped without saying leaves all of it.

    Args:
        prepared: The run.
        results: Folder of runs, which has the file of budgets.
        run: The run's id.
        clock: Unix time in seconds.
        spent: What earlier lives of the run have spent; ``None`` for a new run.

    Raises:
        BadInput: Too little is left in the budget.
    """
    budget = budget_of(prepared)
    if budget is None:
        yield Draw(prepared)
        return
    file, own = budget_file(results, clock()), prepared.spec.limits.cap_nano
    least = least_needed(prepared, begun=spent is not None)
    cap = file.reserve(
        budget, run, cap=own, now=clock(), spent=spent, least=least.amount, least_buys=least.buys
    )
    before = spent or 0
    draw = Draw(_capped(prepared, cap), *_words(budget, cap - before, own - before))
    if cap < own:
        draw.bound = Bound(parse_budget(prepared.spec.limits.budget or ""), cap, own)
    try:
        yield draw
    finally:
        total = draw.spent if draw.started else before
        if total is None:
            file.abandon(run)
        else:
            file.settle(run, spent=total, now=clock())


def budgets(results: str | Path = RESULTS) -> list[BudgetState]:
    """How every rolling budget of a results folder stands, by name."""
    now = time.time()
    return budget_file(Path(results), now).states(now)


def budget_file(results: Path, now: float) -> BudgetFile:
    """The budgets beside a results folder; draws of complete runs are what these have spent.

    Args:
        results: Folder of runs.
        now: Unix time in seconds.
    """
    file = BudgetFile(results)
    file.settle_dead(lambda run: _completed(results / run), now)
    return file


def _completed(run_dir: Path) -> SpentRun | None:
    """How a complete run of this user's ended; what a file from elsewhere says is no word."""
    if not re.fullmatch(RUN_ID, run_dir.name):
        return None
    try:
        file = read_run(run_dir)
    except (MatrixError, OSError):
        return None
    if file.status != "complete" or file.totals is None or not is_made_here(run_dir, file):
        return None
    return SpentRun(file.totals.charged_nano, file.created_at.timestamp())


def check_caps_left(limits: Limits, given: Collection[PathKey], run: str, past: MoneyFold) -> None:
    """See that the caps that a resumed run is given leave it something.

    Args:
        limits: The run's limits by now.
        given: Which settings were given, as paths.
        run: The run's id.
        past: What its journal knows of money.

    Raises:
        BadInput: The run, or a role, has spent more than that already.
    """
    found = []
    if ("limits", "cost_usd") in given:
        found.append(("--max-cost", f"run {run}", limits.cap_nano, past.charged))
    if any(path[:2] == ("limits", "role_usd") for path in given):
        by_role = past.history().spent_by_role
        found += [
            (f"limits.role_usd.{role}", f"role {role}", from_usd(usd), by_role.get(role, 0))
            for role, usd in limits.role_usd.items()
        ]
    mistakes = [
        Mistake(
            name,
            None,
            "",
            f"found {show_usd(cap)}, but {who} has spent {show_usd(spent)} already; nothing was "
            "started: give a cap above that, or leave it out",
        )
        for name, who, cap, spent in found
        if cap < spent
    ]
    if mistakes:
        raise BadInput(mistakes)


def _capped(prepared: Prepared, cap: NanoUSD) -> Prepared:
    """The run under another cap, rounded down to whole micro-dollars."""
    if cap == prepared.spec.limits.cap_nano:
        return prepared
    limits = prepared.spec.limits.model_copy(update={"cost_usd": to_usd(cap - cap % 1000)})
    spec = prepared.spec.model_copy(update={"limits": limits})
    return replace(prepared, spec=spec, cap_given_at=None)


def _words(budget: Budget, granted: NanoUSD, requested: NanoUSD) -> tuple[str, str]:
    """What to tell of a reservation: that it is less than the run's cap, or how much it is."""
    if granted < requested:
        left = f"budget {budget}: only {show_usd(granted)} is left"
        return f"{left}, so the run may spend no more than that", ""
    return "", f"budget {budget}: {show_usd(granted)} set aside for this run"
