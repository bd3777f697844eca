"""`matrix power` and what `matrix plan` says a plan can show."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from matrix.stats import rounds_needed, sd_range
from tests.cli.program import GoldenRun, Matrix
from tests.cli.tables import write_csv


def pilot(here: Path, matrix: Matrix, failed: Mapping[str, int]) -> dict[str, Any]:
    """What a plan says from 60 units, in which ``b`` is better and so many of each have failed."""
    draws, rows = random.Random(1), list[list[Any]]()
    for at in range(60):
        base = draws.gauss(50, 10)
        for level, many in failed.items():
            score = round(base + 6 * (level == "b") + draws.gauss(0, 12), 2)
            rows.append([f"u{at}", level, *(("", "error") if at < many else (score, "ok"))])
    write_csv(here / "r.csv", ("unit", "variant", "score", "status"), rows)
    name = "-".join(map(str, failed.values()))
    assert matrix("import", "r.csv", "--run-id", f"p{name}").code == 0
    asked = ("power", "--effect", "6", "--from", f"p{name}", "--rounds", "60")
    text = matrix(*asked)
    assert text.code == 0, text
    return {
        **json.loads(matrix(*asked, "--json").stdout),
        "text": " ".join(text.stdout.split()),
    }


@pytest.mark.slow
def test_a_better_one_that_fails_beyond_the_margin_is_promised_to_nobody(
    here: Path, matrix: Matrix
) -> None:
    found = pilot(here, matrix, {"a": 0, "b": 5})
    assert "names no winner with a chance of 80 %, however many units" in found["text"]
    assert "the better one fails as b did, in 5 of 60, and a in 0 of 60" in found["text"]
    assert "100,000" not in found["text"]
    assert [one["level"] for one in found["from"]["failed"]] == ["b", "a"]
    assert found["shown"]["effect"] is None


@pytest.mark.slow
def test_what_broke_costs_the_others_no_rounds(here: Path, matrix: Matrix) -> None:
    alone = pilot(here, matrix, {"a": 0, "b": 0})
    worse = pilot(here, matrix, {"a": 9, "b": 0})
    assert worse["needed"]["rounds"] < 1.5 * alone["needed"]["rounds"]
    assert "the failure gate is passed with" not in worse["text"]
    broken = pilot(here, matrix, {"a": 0, "b": 0, "c": 28})
    assert broken["failure_gate"]["rounds_at_rate"] == broken["failure_gate"]["rounds"]
    gone = pilot(here, matrix, {"a": 0, "b": 0, "c": 53})
    for found in (broken, gone):  # one more to beat, and no fewer pairs of the two that are whole
        assert found["needed"]["rounds_for_scores"] < 1.5 * alone["needed"]["rounds_for_scores"]
        assert (found["from"]["missing"], found["from"]["rounds"]) == (0, 60)


@pytest.mark.slow
def test_failures_that_may_be_alike_are_counted_together(here: Path, matrix: Matrix) -> None:
    found = pilot(here, matrix, {"a": 1, "b": 2})
    assert found["from"]["failed"] == []
    assert "if 2.5 % fail, as in that run" in found["text"]


def test_what_a_difference_takes(golden_run: GoldenRun) -> None:
    assert golden_run("power", "power", "--effect", "3", "--sd", "8").code == 0


def test_what_a_difference_of_pass_rates_takes(golden_run: GoldenRun) -> None:
    asked = ("--effect", "0.4", "--sd", "0.49", "--failure-margin", "20")
    assert golden_run("power-yes-no", "power", *asked, "--yes-no").code == 0


@pytest.mark.slow
def test_what_a_budget_shows_with_the_plan_and_prices_of_a_spec(golden_run: GoldenRun) -> None:
    golden_run("power-budget", "power", "standard", "--budget", "40", "--sd", "8")


def test_a_run_of_two_rounds_says_how_little_it_knows(
    finished: Path, golden_run: GoldenRun
) -> None:
    golden_run("power-from", "power", "--from", "first", "--effect", "5")


def test_every_mistake_is_told_at_once(golden_run: GoldenRun) -> None:
    wrong = ("--effect", "-3", "--engine", "peeking", "--from", "nix", "--variants", "1")
    assert golden_run("power-mistakes", "power", "no-such-spec", *wrong).code == 2
    assert golden_run("power-nothing", "power").code == 2


def test_json_has_what_the_text_says(matrix: Matrix) -> None:
    found = json.loads(
        matrix("power", "--effect", "3", "--sd", "8", "--pairs", "5", "--json").stdout
    )
    assert found["needed"]["rounds"] == found["needed"]["rounds_for_scores"] == 58
    assert found["failure_gate"] == {"pairs": 72, "rounds": 15, "rounds_at_rate": None}


def test_a_plan_says_what_it_can_show_in_units_of_a_pilot(finished: Path, matrix: Matrix) -> None:
    text = matrix("plan", "--from", "first").stdout
    assert "round to round in first" in " ".join(text.split())
    data = json.loads(matrix("plan", "--from", "first", "--json").stdout)["can_show"]
    assert (data["from"], data["failure_gate_pairs"], data["can_name_a_winner"]) == (
        "first",
        57,
        True,
    )
    assert data["effect"] > 0


def test_a_plan_that_cannot_name_a_winner_warns(project: Path, matrix: Matrix) -> None:
    short = matrix("plan", "--per-cell", "25").stdout
    assert "WARNING    No winner can be named unless the better one also fails less" in short
    assert "Plan 29 rounds" in " ".join(short.split())
    assert "WARNING" not in matrix("plan", "--per-cell", "29").stdout


@pytest.mark.slow
def test_a_pilot_whose_scores_are_missing_counts_what_it_has(project: Path, matrix: Matrix) -> None:
    """Of twenty units five have a score of one variant only: fifteen have anything to compare."""
    rows = ["unit,variant,score"]
    for unit in range(20):
        rows.append(f"{unit},old,{60 + unit % 7}")
        rows.append(f"{unit},new,{'' if unit % 4 == 0 else 64 + unit % 5}")
    (project / "mine.csv").write_text("\n".join(rows))
    assert matrix("import", "mine.csv", "--run-id", "mine").code == 0
    asked = ("power", "--from", "mine", "--effect", "2", "--failure-margin", "60")
    found = json.loads(matrix(*asked, "--json").stdout)
    assert (found["from"]["rounds"], found["from"]["missing"]) == (15, 0.125)
    low, high = sd_range(found["sd"], 14)
    assert (found["from"]["sd_low"], found["from"]["sd_high"]) == (low, high)
    whole = rounds_needed(2, found["sd"])
    assert found["needed"]["rounds_for_scores"] > whole
    text = " ".join(matrix(*asked).stdout.split())
    assert "12 % of sessions have none, as in that run" in text
    assert "from 15 units of mine" in text


@pytest.mark.slow
def test_who_cannot_win_is_no_better_one_however_well_its_easy_rounds_scored(
    here: Path, matrix: Matrix
) -> None:
    """Of ``c`` only rounds with high scores are left, so it has the best mean, and is out."""
    draws, rows = random.Random(1), list[list[Any]]()
    for at in range(60):
        base = draws.gauss(50, 10)
        for level in "abc":
            broke = level == "c" and base < 46
            score = round(base + draws.gauss(0, 4), 2)
            rows.append([f"u{at}", level, *(("", "error") if broke else (score, "ok"))])
    write_csv(here / "r.csv", ("unit", "variant", "score", "status"), rows)
    assert matrix("import", "r.csv", "--run-id", "broke").code == 0
    alone = [row for row in rows if row[1] != "c"]
    write_csv(here / "alone.csv", ("unit", "variant", "score", "status"), alone)
    assert matrix("import", "alone.csv", "--run-id", "alone").code == 0

    def asked(run: str) -> Any:
        return json.loads(matrix("power", "--effect", "4", "--from", run, "--json").stdout)

    with_it, without = asked("broke"), asked("alone")
    assert [one["level"] for one in with_it["from"]["failed"]][-1] == "c"
    assert 50 < with_it["needed"]["rounds"] < 2 * without["needed"]["rounds"]


KIND = """
import matrix

CASES = [{"question": f"q{n}"} for n in range(2)]

@matrix.scenario(cases=CASES, roles={"agent": "sim/gpt-4o-mini"})
async def quiz(ctx, question: str):
    \"\"\"A question, with a mark that nothing explains.\"\"\"
    reply = await ctx.ask("agent", [{"role": "user", "content": question}])
    ctx.score("score", len(reply.text) % 10)
"""


@pytest.mark.slow
def test_a_kind_without_a_profile_has_the_price_of_its_pilot_or_none(
    here: Path, matrix: Matrix
) -> None:
    (here / "quiz.py").write_text(KIND)
    spec = "kind: ./quiz.py\nname: quiz\nper_cell: 12\nfactors:\n  agent: [{}]\n"
    (here / "three.yaml").write_text(
        spec.format("sim/gpt-4o-mini, sim/gpt-4o, sim/haiku") + "compare: {factor: agent}\n"
    )
    (here / "two.yaml").write_text(
        spec.format("sim/gpt-4o-mini, sim/gpt-4o") + "compare: {factor: agent}\n"
    )
    unknown = matrix("power", "two.yaml", "--effect", ".2", "--sd", ".4")
    assert unknown.code == 0, unknown
    assert "$" not in unknown.stdout
    assert "nobody knows before a round was played" in " ".join(unknown.stdout.split())
    budget = matrix("power", "two.yaml", "--effect", ".2", "--sd", ".4", "--budget", "1")
    assert budget.code == 2
    assert "the kind of this spec has no profile" in " ".join(budget.stderr.split())
    done = matrix("run", "three.yaml", "--run-id", "pilot", "--executor", "in-process")
    assert done.code == 0, done
    told = matrix("power", "two.yaml", "--effect", ".2", "--from", "pilot")
    assert told.code == 0, told
    assert "a round, by what sessions of pilot cost (simulated)" in " ".join(told.stdout.split())
    (here / "real.yaml").write_text((here / "two.yaml").read_text().replace("sim/", "openai/"))
    paid = matrix("power", "real.yaml", "--effect", ".2", "--from", "pilot")
    assert paid.code == 0, paid
    assert "$" not in paid.stdout, "what simulated models cost is no price of real ones"
