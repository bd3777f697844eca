"""Rolling budgets: never more than the amount in any window, whatever runs, dies or goes wrong."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from matrix.model.errors import BadInput, RunLocked, StoreError
from matrix.model.money import from_usd
from matrix.model.spec.budgets import WINDOWS, Budget, parse_budget
from matrix.store.shared.budgets import BUDGETS_NAME, BudgetFile, BudgetState, SpentRun
from tests.sampling import examples

DAY = WINDOWS["day"]
NIGHTLY = Budget("nightly", 50, "day")


def state_of(folder: Path, now: float) -> BudgetState:
    (state,) = BudgetFile(folder).states(now)
    return state


# --- how it is written ----------------------------------------------------------------------------


def test_a_budget_is_read_as_it_is_written() -> None:
    assert parse_budget("nightly=50/day") == Budget("nightly", from_usd(50), "day")
    assert parse_budget("a.b-c_1=0.25/month").window_s == 30 * DAY


@pytest.mark.parametrize(
    "text",
    [
        "nightly",
        "nightly=50",
        "=50/day",
        "n=0/day",
        "n=-1/day",
        "n=50/dy",
        "n=nan/day",
        "a b=5/day",
    ],
)
def test_what_is_no_budget_is_said_with_what_is(text: str) -> None:
    with pytest.raises(ValueError, match=r"found .*; write NAME=USD/WINDOW"):
        parse_budget(text)


# --- one after another ----------------------------------------------------------------------------


def test_a_run_reserves_its_cap_or_what_is_left(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    assert file.reserve(NIGHTLY, "a", cap=30, now=0) == 30
    assert file.reserve(NIGHTLY, "b", cap=30, now=1) == 20
    with pytest.raises(BadInput, match="comes free when the runs that hold it have ended"):
        file.reserve(NIGHTLY, "c", cap=30, now=2)


def test_at_its_end_a_draw_shrinks_to_what_was_spent(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=50, now=0)
    file.settle("a", spent=7, now=10)
    assert state_of(tmp_path, 10).left == 43


def test_money_is_free_a_whole_window_after_the_end_and_not_after_the_start(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=50, now=0)
    file.settle("a", spent=50, now=23 * 3600)
    with pytest.raises(BadInput, match=r"more comes free in 22\.0 hours"):
        file.reserve(NIGHTLY, "b", cap=1, now=25 * 3600)
    assert file.reserve(NIGHTLY, "b", cap=50, now=23 * 3600 + DAY) == 50


def test_a_run_that_goes_on_counts_however_long_ago_it_began(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=50, now=0)
    assert state_of(tmp_path, 40 * DAY).left == 0


def test_less_than_one_round_is_refused_and_holds_nothing(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=45, now=0)
    with pytest.raises(BadInput, match="one round may cost"):
        file.reserve(NIGHTLY, "b", cap=30, now=1, least=6)
    assert state_of(tmp_path, 2).drawn == 45
    assert file.reserve(NIGHTLY, "b", cap=30, now=1, least=5) == 5


def test_a_clock_that_jumps_back_frees_nothing(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=50, now=10 * DAY)
    file.settle("a", spent=50, now=3 * DAY)
    for now in (0.0, 5.0 * DAY, 11 * DAY - 1.0):
        assert state_of(tmp_path, now).left == 0
    assert state_of(tmp_path, 11 * DAY).left == 50


def test_budgets_of_other_names_do_not_matter(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=50, now=0)
    assert file.reserve(Budget("weekly", 70, "week"), "b", cap=70, now=0) == 70
    assert [state.budget.name for state in file.states(1)] == ["nightly", "weekly"]


def test_a_run_that_goes_on_draws_only_what_it_may_still_spend(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=20, now=0)
    file.settle("a", spent=15, now=1)
    assert file.reserve(NIGHTLY, "a", cap=30, now=2, spent=15) == 30
    assert state_of(tmp_path, 3).drawn == 30
    file.settle("a", spent=22, now=4)
    assert state_of(tmp_path, 5).drawn == 22


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert BudgetFile(tmp_path).states(0) == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / BUDGETS_NAME).write_text("nonsense" * 1000)
    with pytest.raises(StoreError, match=BUDGETS_NAME):
        BudgetFile(tmp_path).reserve(NIGHTLY, "a", cap=1, now=0)


# --- death ----------------------------------------------------------------------------------------


def test_a_live_run_cannot_be_started_again(tmp_path: Path) -> None:
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=10, now=0)
    with pytest.raises(RunLocked):
        BudgetFile(tmp_path).reserve(NIGHTLY, "a", cap=10, now=1)
    assert state_of(tmp_path, 2).drawn == 10


def test_the_draw_of_a_dead_run_stands_until_a_window_after_its_death_was_noticed(
    tmp_path: Path,
) -> None:
    dead = BudgetFile(tmp_path)
    dead.reserve(NIGHTLY, "a", cap=50, now=0)
    dead.abandon("a")
    assert state_of(tmp_path, 3 * DAY).left == 0
    assert state_of(tmp_path, 4 * DAY - 1).left == 0
    assert state_of(tmp_path, 4 * DAY).left == 50


def test_a_dead_run_that_is_resumed_settles_what_it_had_spent(tmp_path: Path) -> None:
    dead = BudgetFile(tmp_path)
    dead.reserve(NIGHTLY, "a", cap=40, now=0)
    dead.abandon("a")
    file = BudgetFile(tmp_path)
    assert file.reserve(NIGHTLY, "a", cap=40, now=5, spent=12) == 40
    assert state_of(tmp_path, 6).drawn == 40
    file.settle("a", spent=13, now=7)
    assert state_of(tmp_path, 8).drawn == 13


def test_a_new_run_of_a_dead_runs_name_leaves_the_dead_ones_draw_alone(tmp_path: Path) -> None:
    dead = BudgetFile(tmp_path)
    dead.reserve(NIGHTLY, "a", cap=40, now=0)
    dead.abandon("a")
    file = BudgetFile(tmp_path)
    file.reserve(NIGHTLY, "a", cap=10, now=1)
    file.settle("a", spent=0, now=2)
    assert state_of(tmp_path, 3).drawn == 40


def test_the_draw_of_a_dead_run_that_was_complete_is_what_it_spent(tmp_path: Path) -> None:
    dead = BudgetFile(tmp_path)
    dead.reserve(NIGHTLY, "a", cap=15, now=0)  # of an earlier run of its name
    dead.abandon("a")
    dead.reserve(NIGHTLY, "a", cap=20, now=5)
    dead.abandon("a")
    living = BudgetFile(tmp_path)
    living.reserve(NIGHTLY, "b", cap=10, now=6)
    looked = BudgetFile(tmp_path)
    looked.settle_dead(
        {"a": SpentRun(spent=3, created=4), "b": SpentRun(spent=1, created=4)}.get, 7
    )
    assert state_of(tmp_path, 8).drawn == 15 + 3 + 10
    looked.settle_dead(lambda _: None, 9)
    assert state_of(tmp_path, 10).drawn == 15 + 3 + 10


DRAW = """
import sys
from pathlib import Path
from matrix.model.spec.budgets import Budget
from matrix.model.errors import BadInput
from matrix.store.shared.budgets import BudgetFile
file, budget = BudgetFile(Path(sys.argv[1])), Budget("nightly", 50, "day")
try:
    print(file.reserve(budget, sys.argv[2], cap=8, now=0), flush=True)
except BadInput:
    print(0, flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_processes_at_once_share_out_the_budget_and_no_more(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", DRAW, str(tmp_path), f"run-{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(9)
    ]  # fmt: skip
    granted = []
    for process in processes:
        assert process.stdout is not None
        granted.append(int(process.stdout.readline()))
    assert sorted(granted) == [0, 0, 2, 8, 8, 8, 8, 8, 8]
    assert state_of(tmp_path, 1).left == 0
    assert {draw.free_at for draw in state_of(tmp_path, 1).draws} == {None}, "all are alive"
    for process in processes:
        process.kill()
        process.communicate()
    assert {draw.free_at for draw in state_of(tmp_path, 2).draws} == {2 + DAY}, "all are dead"
    assert state_of(tmp_path, 3).left == 0


# --- any order of events --------------------------------------------------------------------------


@dataclass
class Life:
    """What really happens to a run."""

    file: BudgetFile
    cap: int
    spent: int = 0
    spends: list[tuple[float, int]] = field(default_factory=list)


class Windows(RuleBasedStateMachine):
    """Runs reserve, spend, end, die and go on, while the clock runs and jumps back.

    Time is the greatest reading of the clock since the first run: what no reading can tell, and
    what was read before there was a file, no file can know.
    """

    @initialize()
    def make(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.alive: dict[str, Life] = {}
        self.dead: dict[str, Life] = {}
        self.spends: list[tuple[float, int]] = []
        self.clock = self.time = 0.0
        self.count = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(hours=st.floats(-60, 30))
    def tick(self, hours: float) -> None:
        self.clock += hours * 3600
        self.time = max(self.time, self.clock) if self.alive or self.dead else self.clock

    @rule(cap=st.integers(1, 60), least=st.integers(1, 10))
    def start(self, cap: int, least: int) -> None:
        self.count += 1
        self.reserve(f"run-{self.count}", Life(BudgetFile(self.path), cap), cap, least)

    def reserve(self, name: str, life: Life, cap: int, least: int = 1) -> None:
        life.file = BudgetFile(self.path)
        try:
            life.cap = life.file.reserve(
                NIGHTLY, name, cap=cap, now=self.clock, spent=life.spent, least=least
            )
        except BadInput:
            return
        assert life.spent < life.cap <= cap
        self.dead.pop(name, None)
        self.alive[name] = life

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), share=st.floats(0, 1))
    def spend(self, data: st.DataObject, share: float) -> None:
        life = self.alive[data.draw(st.sampled_from(sorted(self.alive)))]
        amount = int((life.cap - life.spent) * share)
        life.spent += amount
        self.spends.append((self.time, amount))

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), dies=st.booleans())
    def stop(self, data: st.DataObject, dies: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.alive)))
        life = self.dead[name] = self.alive.pop(name)
        if dies:
            life.file.abandon(name)
        else:
            life.file.settle(name, spent=life.spent, now=self.clock)

    @precondition(lambda self: self.dead)
    @rule(data=st.data(), more=st.integers(1, 30))
    def go_on(self, data: st.DataObject, more: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.dead)))
        self.reserve(name, self.dead[name], self.dead[name].spent + more)

    @invariant()
    def never_more_than_the_amount_in_any_window(self) -> None:
        for end, _ in self.spends:
            window = [amount for at, amount in self.spends if end - DAY < at <= end]
            assert sum(window) <= NIGHTLY.amount

    @invariant()
    def what_is_drawn_covers_what_was_spent(self) -> None:
        recent = sum(amount for at, amount in self.spends if at > self.time - DAY)
        drawn = sum(state.drawn for state in BudgetFile(self.path).states(self.clock))
        assert recent <= drawn <= NIGHTLY.amount


TestWindows = Windows.TestCase
TestWindows.settings = settings(max_examples=examples(30), stateful_step_count=25)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
@settings(max_examples=examples(20))
def test_what_is_reserved_at_once_never_exceeds_the_amount(caps: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, granted = BudgetFile(Path(folder)), 0
        for number, cap in enumerate(caps):
            try:
                granted += file.reserve(NIGHTLY, f"run-{number}", cap=cap, now=0)
            except BadInput:
                assert granted == NIGHTLY.amount, "refused only when nothing is left"
        assert granted == min(NIGHTLY.amount, sum(caps))
