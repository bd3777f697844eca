"""What earlier lives of a run have finished, and what they spent on the rest."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from matrix.engine.launcher import Past
from matrix.model.entries import Ended, Looked, Opened, Settled
from matrix.model.metrics import measured
from matrix.model.money import NanoUSD
from matrix.store.codec import ENDED, OPENED, SETTLED
from matrix.store.journal import JOURNAL_NAME, JournalReader


class Earlier(NamedTuple):
    """Sessions that need not be played again, and the money in those that were begun.

    Censored sessions go on, so they are among the begun. ``look`` is the newest look at the scores.
    """

    done: dict[str, Past]
    begun: dict[str, NanoUSD]
    look: Looked | None


def earlier_lives(run_dir: Path, metric: str = "score") -> Earlier:
    """Read what a run's journal knows of its sessions; nothing, if it has none yet.

    Args:
        run_dir: The run's folder.
        metric: What the run compares.
    """
    path = run_dir / JOURNAL_NAME
    if not path.is_file():
        return Earlier({}, {}, None)
    latest: dict[str, Past] = {}
    saved: Counter[str] = Counter()
    costs: dict[str, dict[int, NanoUSD]] = {}
    with closing(JournalReader(path)) as reader:
        for row in reader.rows(0, reader.last_seq(), kinds=(OPENED, ENDED, SETTLED)):
            match row.entry:
                case Opened() as opened if opened.redo:
                    latest.pop(opened.plan.session_id, None)
                case Ended() as end:
                    value = measured(metric, end)
                    latest[end.session_id] = Past(end.outcome, end.score, end.tally.cost, value)
                case Settled() as settled:
                    # an attempt's last settlement counts
                    costs.setdefault(settled.key.session_id, {})[settled.hold_id] = settled.cost
                    saved[settled.key.session_id] += settled.saved
        look = reader.newest_look()
    done = {
        key: past._replace(cost=past.cost + saved[key])  # as if there had been no response cache
        for key, past in latest.items()
        if past.outcome != "censored"
    }
    begun = {key: sum(paid.values()) for key, paid in costs.items() if key not in done}
    return Earlier(done, begun, look)
