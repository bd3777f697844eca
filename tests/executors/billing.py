"""A model behind the loopback server, and what it must cost by the server's own count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matrix.model.entries import Held, Settled
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from tests.executors.programs import counter_spec

INPUT_USD, OUTPUT_USD = 3, 15
"""Price per million tokens."""

GROUP = "served"


def served_spec(url: str, rates: Mapping[str, Any] | None = None, **changes: Any) -> Any:
    """The small counter run, on a real model at this address.

    Args:
        url: Base URL of an OpenAI-compatible service.
        rates: Rate limits of its group; a plain concurrency if left out, which leaves nothing to
            find out.
        changes: Fields of the spec that differ.
    """
    model = {
        "target": "openai/sim-gpt",
        "api_base": url,
        "price": {"input": INPUT_USD, "output": OUTPUT_USD},
        "group": GROUP,
    }
    served = {
        "roles": {"counter": "narrator-x"},
        "models": {"narrator-x": model},
        "groups": {GROUP: dict(rates or {"concurrency": 50})},
    }
    return counter_spec(**(served | changes))


def bill(stats: Mapping[str, Any]) -> int:
    """What a provider would charge for what this server has answered, in nano-dollars."""
    return int(stats["tokens_in"]) * INPUT_USD * 1_000 + int(stats["tokens_out"]) * (
        OUTPUT_USD * 1_000
    )


def most_committed(run_dir: Path) -> int:
    """The most that was spent and held together at any moment of a run, in nano-dollars."""
    reader = JournalReader(run_dir / JOURNAL_NAME)
    committed = most = 0
    try:
        for row in reader.rows(0, reader.last_seq()):
            match row.entry:
                case Held() as held:
                    committed += held.amount
                case Settled() as settled:
                    committed += settled.cost - settled.held
            most = max(most, committed)
    finally:
        reader.close()
    return most
