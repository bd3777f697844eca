"""A run's draw on a rolling budget, from before it starts until it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from matrix.api.opened import RESULTS
from matrix.engine.history import fold_money
from matrix.engine.prepared import Prepared
from matrix.model.budgets import Budget, parse_budget
from matrix.model.money import NanoUSD, show_usd, to_usd
from matrix.store.budgets import BudgetFile, BudgetState
from matrix.store.codec import HELD, SETTLED
from matrix.store.journal import JOURNAL_NAME, JournalReader


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
    return replace(budget, name=f"{budget.name} (simulated)") if prepared.simulated else budget


def round_needed(prepared: Prepared) -> NanoUSD:
    """The least that is worth starting a new run for."""
    whole = prepared.spec.at_cap == "whole-rounds"
    return prepared.round_cost.high if whole else 1


@contextmanager
def drawing(
    prepared: Prepared,
    results: Path,
    run: str,
    clock: Callable[[], float],
    *,
    spent: NanoUSD | None = None,
    least: NanoUSD = 1,
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
        least: What there has to be in the budget.

    Raises:
        BadInput: Too little is left in the budget.
    """
    budget = budget_of(prepared)
    if budget is None:
        yield Draw(prepared)
        return
    file, own = BudgetFile(results), prepared.spec.limits.cap_nano
    cap = file.reserve(budget, run, cap=own, now=clock(), spent=spent, least=least)
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


def spent_so_far(run_dir: Path) -> NanoUSD:
    """What a run has spent according to its journal, open holds counted as spent."""
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        rows = reader.rows(0, reader.last_seq(), kinds=(HELD, SETTLED))
        history, open_holds = fold_money(row.entry for row in rows)
    held = sum(hold.amount for hold in open_holds)
    return history.settled + history.presumed + history.overrun + held


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
