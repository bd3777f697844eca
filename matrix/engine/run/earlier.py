"""What earlier lives of a run have finished, and what they spent on the rest."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from matrix.engine.governor.money_fold import money_so_far
from matrix.engine.run.launcher import Past
from matrix.engine.wire.defects import defect_of
from matrix.model.entries import Looked
from matrix.model.metrics import TurnLimit, measured
from matrix.model.money import NanoUSD
from matrix.store.journal.codec import ENDED, OPENED, SETTLED
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.journal.session_state import fold, fold_all


class Earlier(NamedTuple):
    """Sessions that need not be played again, and the money in those that were begun.

    Censored sessions go on, so they are among the begun, with what each of their roles has spent.
    ``look`` is the newest look at the scores.
    """

    done: dict[str, Past]
    begun: dict[str, Mapping[str, NanoUSD]]
    look: Looked | None


def earlier_lives(run_dir: Path, metric: str = "score", turn_limit: TurnLimit = "keep") -> Earlier:
    """Read what a run's journal knows of its sessions; nothing, if it has none yet.

    Args:
        run_dir: The run's folder.
        metric: What the run compares.
        turn_limit: What a limit of turns makes of a session there.
    """
    path = run_dir / JOURNAL_NAME
    if not path.is_file():
        return Earlier({}, {}, None)
    done: dict[str, Past] = {}
    begun: dict[str, Mapping[str, NanoUSD]] = {}
    with closing(JournalReader(path)) as reader:
        sessions = fold_all(row.entry for row in reader.since(0, _kinds(reader)))
        for key, state in sessions.items():
            end = state.ended
            if end is not None and end.outcome != "censored":
                cost = end.tally.cost + state.saved  # as if there had been no response cache
                roles = {role: share.cost for role, share in end.tally.roles.items()}
                value = measured(metric, end, turn_limit)
                done[key] = Past(
                    *(end.outcome, end.score, cost, value, roles, end.error_class),
                    defect=defect_of(end),
                )
            elif spent := fold(reader.session(key), keep_turns=False).spent_by_role:
                begun[key] = spent
        look = reader.newest_look()
    return Earlier(done, begun, look)


def _kinds(reader: JournalReader) -> tuple[int, ...]:
    """What says how sessions ended; what they saved is in their attempts, if any of them did."""
    saved = money_so_far(reader, turns=False).history().counters.saved
    return (OPENED, ENDED, SETTLED) if saved else (OPENED, ENDED)
