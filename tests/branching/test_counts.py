"""What is said of continuations in numbers: their own turns, and the turns to go on after."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix import api
from matrix.api import Run, replay_checkpoint
from matrix.engine.run.progress import Progress, Silent
from matrix.model.errors import BadInput
from matrix.report.run.archive_report import repaired_as_data, repaired_as_text
from matrix.report.session.transcript import session_as_data
from tests.branching.looking import ids


class Watching(Silent):
    """Remembers the turns of each progress."""

    def __init__(self) -> None:
        self.turns: list[int] = []

    def progress(self, progress: Progress) -> None:
        self.turns.append(progress.counters.turns)


@pytest.fixture
def branch(counter: Run, tmp_path: Path) -> tuple[Run, Watching]:
    """Two variants played on from the third of six turns."""
    watching = Watching()
    run = counter.branch(
        ids(counter)[0],
        turn=3,
        variants={"step": [1, 4]},
        times=2,
        results=tmp_path,
        executor="in-process",
        listener=watching,
    )
    return run, watching


def test_progress_counts_the_turns_that_a_branch_plays_itself(
    branch: tuple[Run, Watching],
) -> None:
    run, watching = branch
    assert max(watching.turns) == run.summary().turns == 4 * 3


@pytest.mark.slow
def test_a_repair_says_as_many_turns_as_the_summary(branch: tuple[Run, Watching]) -> None:
    run = branch[0]
    turns = run.summary().turns
    done = api.repair(run.path)
    assert repaired_as_data(done)["turns_played"] == turns
    assert f"; {turns} turns were played" in repaired_as_text(done)
    assert run.summary().turns == turns


@pytest.mark.slow
def test_turns_to_go_on_after_are_those_that_there_are(counter: Run, tmp_path: Path) -> None:
    file = api.export(counter.path, ids(counter)[0], turn=3, output=tmp_path / "moment.json")
    again = replay_checkpoint(file, results=tmp_path, executor="in-process")
    (session,) = ids(again)
    for turn in (0, 1, 2, 7):
        with pytest.raises(BadInput, match=r"turns to go on after: 3 to 6$"):
            api.plan_replay(again.path, session, turn=turn)
    for turn in (3, 4, 5, 6):
        api.plan_replay(again.path, session, turn=turn)
    rows = again.sessions()
    assert session_as_data(again.session(session))["turns"] == rows["turns"].iloc[0] == 6
