"""Rolling budgets as a table and as data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from matrix.model.money import show_usd, to_usd
from matrix.model.records import JSON
from matrix.report.text import columns
from matrix.store.shared.budgets import BudgetState, DrawState


def budgets_as_text(states: Sequence[BudgetState]) -> str:
    """One line a budget: its amount, what is drawn and left, and when more comes free."""
    rows = [
        [
            state.budget.name,
            f"{show_usd(state.budget.amount)}/{state.budget.window}",
            show_usd(state.drawn),
            show_usd(state.left),
            _next(state),
        ]
        for state in states
    ]
    headers = ["budget", "amount", "drawn", "left", "more comes free"]
    return columns(headers, rows, right=(1, 2, 3))


def _next(state: BudgetState) -> str:
    draws = [draw for draw in state.draws if draw.amount]
    ended = [draw for draw in draws if draw.free_at is not None]
    if ended:
        first = min(ended, key=lambda draw: draw.free_at or 0.0)
        return f"{show_usd(first.amount)} at {_utc(first)} (UTC), from {first.run}"
    return f"when {draws[0].run} ends, or a {state.budget.window} later" if draws else "-"


def _utc(draw: DrawState) -> str:
    return datetime.fromtimestamp(draw.free_at or 0.0, UTC).strftime("%Y-%m-%d %H:%M")


def budgets_as_data(states: Sequence[BudgetState]) -> JSON:
    """The same for programs, with every draw."""
    return [
        {
            "name": state.budget.name,
            "amount_usd": to_usd(state.budget.amount),
            "window": state.budget.window,
            "drawn_usd": to_usd(state.drawn),
            "left_usd": to_usd(state.left),
            "draws": [
                {"run": draw.run, "usd": to_usd(draw.amount), "free_at": draw.free_at}
                for draw in state.draws
            ],
        }
        for state in states
    ]
