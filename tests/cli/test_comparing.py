"""`matrix compare`: whole outputs, and the same for programs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import matrix as api
from matrix.report.study.study_data import study_as_data
from tests.cli.program import GoldenRun, Matrix
from tests.cli.test_verdicts import SABOTAGE

SETTINGS = {
    "scenarios": ["the-borrowed-hour", "house-too-many"],
    "options.group_size_max": 2,
    "limits.turns": 8,
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the run ``planted``, in which a prompt is bad, and the smaller ``other``."""
    folder = tmp_path_factory.mktemp("compared")
    api.init(folder)
    planted = {"simulation.effects": SABOTAGE, "options.judge_repeats": 2}
    for run_id, per_cell, seed, more in (("planted", 12, 1, planted), ("other", 3, 2, {})):
        api.run(
            folder,
            per_cell=per_cell,
            seed=seed,
            max_cost=100,
            run_id=run_id,
            settings={**SETTINGS, **more},
            results=folder / "results",
            executor="in-process",
        )
    return folder


@pytest.fixture
def runs(here: Path, compared: Path) -> Path:
    shutil.copytree(compared, here, dirs_exist_ok=True)
    return here


@pytest.mark.long
@pytest.mark.slow
def test_a_run_is_compared_as_its_spec_declares(runs: Path, golden_run: GoldenRun) -> None:
    assert golden_run("compare", "compare", "planted").code == 0


@pytest.mark.slow
def test_every_metric_can_be_listed_against_a_baseline(runs: Path, golden_run: GoldenRun) -> None:
    flags = ("--against", "baseline", "--by", "story", "--margin", "2", "--all-metrics")
    golden_run("compare-against", "compare", "planted", "--metric", "composite", *flags)


@pytest.mark.slow
def test_money_is_compared_as_a_metric(runs: Path, golden_run: GoldenRun) -> None:
    golden_run("compare-cost", "compare", "planted", "--metric", "cost_usd")


def test_two_runs_are_compared(runs: Path, golden_run: GoldenRun) -> None:
    golden_run("compare-runs", "compare", "other", "planted")


@pytest.mark.slow
def test_a_run_of_two_rounds_says_what_is_missing(finished: Path, golden_run: GoldenRun) -> None:
    golden_run("compare-few", "compare")


def test_every_mistake_is_named_at_once(runs: Path, golden_run: GoldenRun) -> None:
    flags = ("--metric", "compsite", "--by", "narator", "--against", "warmest", "--margin", "0")
    assert golden_run("compare-mistakes", "compare", "planted", *flags).code == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("planted", "planted"), "planted cannot be compared with itself; name another run"),
        (("planted", "other", "--factor", "prompt"), "two runs are compared as they are"),
        (("planted", "--factor", "promt"), "did you mean 'prompt'?"),
        (("nope",), "no run 'nope'"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(
    runs: Path, matrix: Matrix, args: tuple[str, ...], said: str
) -> None:
    result = matrix("compare", *args)
    assert said in result.stderr
    assert (result.stdout, result.code) == ("", 2)


@pytest.mark.slow
def test_programs_get_what_python_gets(runs: Path, matrix: Matrix) -> None:
    printed = json.loads(matrix("compare", "planted", "--json").stdout)
    study = api.compare("planted", results=runs / "results")
    assert printed == json.loads(json.dumps(study_as_data(study)))
    assert study_as_data(api.open_run("planted", results=runs / "results").compare()) == (
        study_as_data(study)
    )
    assert printed["sentence"] in " ".join(matrix("compare", "planted").stdout.split())


@pytest.mark.slow
def test_a_run_is_gated_by_a_baseline_after_the_fact(runs: Path, matrix: Matrix) -> None:
    gate = ("--baseline", "planted", "--margin", "30", "--fail-on", "regression")
    told = matrix("compare", "other", *gate)
    assert told.code == 0, "too little data is told, and fails nothing"
    assert told.stdout.splitlines()[0].startswith("2 runs compared on score")
    assert "gate undecided" in told.stdout.splitlines()[-1]
    strict = matrix("compare", "other", *gate, "--fail-on", "not-enough-data")
    assert strict.code == 3
    data = json.loads(matrix("compare", "other", *gate, "--json").stdout)
    assert data["gate"]["failed"] is False
    assert data["factor"] == "run"


@pytest.mark.long
@pytest.mark.slow
def test_a_threshold_gates_every_variant_of_a_run(runs: Path, matrix: Matrix) -> None:
    low = matrix("compare", "planted", "--threshold", "score=1", "--fail-on", "threshold")
    assert low.code == 0
    assert "gate passed" in low.stdout.splitlines()[-1]
    high = matrix("compare", "planted", "--threshold", "score=99", "--fail-on", "threshold")
    assert high.code == 3
    one_variant = ("--set", "factors={prompt: [warmer]}", "--per-cell", "3", "--max-cost", "9")
    one = matrix("run", "--executor", "in-process", "--quiet", "--run-id", "one", *one_variant)
    assert one.code == 0
    gate = ("--threshold", "score=1", "--fail-on", "threshold")
    alone = matrix("compare", "one", *gate)
    assert (alone.code, alone.stdout[:5]) == (0, "gate ")
    assert json.loads(matrix("compare", "one", *gate, "--json").stdout)["gate"]["failed"] is False
    assert matrix("compare", "one").code == 2, "without a gate there is nothing to say"
    both = matrix("compare", "planted", "other", "--baseline", "other")
    assert both.code == 2
    assert "beside a second run" in both.stderr


COIN = '''import matrix


@matrix.scenario(
    cases=[{"case": one} for one in ("a", "b")],
    simulated={"agent": lambda asked: "yes" if asked.rng.random() < float(asked.last) else "no"},
    scores=["said"],
)
async def coin(ctx, case: str, chance: float = 0.5):
    """Asks once."""
    said = await ctx.ask("agent", str(chance))
    ctx.score("said", said.text == "yes")
'''


@pytest.mark.long
@pytest.mark.slow
def test_two_runs_of_one_variant_need_new_ones_and_those_that_grew_are_told(
    here: Path, matrix: Matrix
) -> None:
    flags = ("--executor", "in-process", "--quiet", "--set", "compare.failure_margin=50")
    (here / "coin.py").write_text(COIN)
    for name, chance in (("h1", "0.5"), ("h2", "0.9")):
        mine = ("--set", f"options.chance={chance}", "--run-id", name)
        assert matrix("run", "coin.py", "--per-cell", "8", *flags, *mine).code == 0
    told = " ".join(matrix("compare", "h1", "h2").stdout.split())
    (rounds,) = set(re.findall(r"([\d,]+) rounds needed, in a new run", told))
    assert f"About {rounds} rounds are needed, all in new runs (about $" in told
    assert "has got" not in told
    matrix("resume", "h1", "--per-cell", "12", "--quiet", "--executor", "in-process")
    matrix("resume", "h2", "--per-cell", "12", "--quiet", "--executor", "in-process")
    told = " ".join(matrix("compare", "h1", "h2").stdout.split())
    for name in ("h1", "h2"):
        assert f"{name} was planned with 16 sessions and has got 24 since" in told
    assert "errs more often than it says" in told


@pytest.mark.slow
def test_what_judging_again_cost_is_no_price_of_a_round(runs: Path, matrix: Matrix) -> None:
    again = ("rejudge", "other", "--judge", "sim/opus-4.5", "--executor", "in-process", "--quiet")
    assert matrix(*again, "--max-cost", "5", "--run-id", "again").code == 0
    told = matrix("compare", "again", "--metric", "quality_fun_factor").stdout
    assert "(about $" not in told
    refused = matrix("power", "--from", "again", "--budget", "5")
    assert refused.code == 2
    assert "--budget: what does a round cost?" in refused.stderr
    priced = matrix("power", "--from", "again", "--effect", "5").stdout
    assert "$" not in priced
