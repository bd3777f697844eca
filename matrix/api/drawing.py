"""A run's draw on a rolling budget, from before it starts until it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from matrix.api.opened import RESULTS
from matrix.engine.prepared import Prepared
from matrix.model.budgets import Budget, parse_budget
from matrix.model.errors import BadInput, Mistake
from matrix.model.money import NanoUSD, show_usd, to_usd
from matrix.store.budgets import BudgetFile, BudgetState


@dataclass(slots=True)
class Draw:
    """What a run may spend.

    Attributes:
        prepared: The run under the cap that holds for it: its own, or what its budget has left.
        reduced: Why the cap is lower than the run's own; empty where it is not.
        reserved: What was set aside; empty without a budget.
        started: Whether money may have been spent; set before the first process comes up.
        spent: What the run has spent in all its lives, once it has ended.
    """

    prepared: Prepared
    reduced: str = ""
    reserved: str = ""
    started: bool = False
    spent: NanoUSD | None = None


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
def drawing(
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
    file, own = BudgetFile(results), prepared.spec.limits.cap_nano
    least = least_needed(prepared, begun=spent is not None)
    cap = file.reserve(
        budget, run, cap=own, now=clock(), spent=spent, least=least.amount, least_buys=least.buys
    )
    before = spent or 0
    draw = Draw(_capped(prepared, cap), *_words(budget, cap - before, own - before))
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
    return BudgetFile(Path(results)).states(time.time())


def check_cap(prepared: Prepared, run: str, spent: NanoUSD) -> None:
    """See that a cap that a resumed run is given leaves it something.

    Raises:
        BadInput: The run has spent more than that already.
    """
    cap = prepared.spec.limits.cap_nano
    if cap < spent:
        message = (
            f"found {show_usd(cap)}, but run {run} has spent {show_usd(spent)} already; nothing "
            "was started: give a cap above that, or leave it out"
        )
        raise BadInput([Mistake("--max-cost", None, "", message)])


def _capped(prepared: Prepared, cap: NanoUSD) -> Prepared:
    """The run under another cap, rounded down to whole micro-dollars."""
    if cap == prepared.spec.limits.cap_nano:
        return prepared
    limits = prepared.spec.limits.model_copy(update={"cost_usd": to_usd(cap - cap % 1000)})
    return replace(prepared, spec=prepared.spec.model_copy(update={"limits": limits}))


def _words(budget: Budget, granted: NanoUSD, wanted: NanoUSD) -> tuple[str, str]:
    """What to tell of a reservation: that it is less than the run's cap, or how much it is."""
    if granted < wanted:
        left = f"budget {budget}: only {show_usd(granted)} is left"
        return f"{left}, so the run may spend no more than that", ""
    return "", f"budget {budget}: {show_usd(granted)} set aside for this run"
