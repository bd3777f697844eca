"""Trajectory tests through the command line: an agent and a judge that do as the inputs say."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matrix.api import plan_branch
from tests.executors.programs import Done, Project
from tests.kinds.trajectory.folders import (
    ADAPTER,
    ANYTHING,
    played,
    project,
    scenario,
    whys,
    words,
)

H1 = "# H-V1: The report is not read\\n\\nStatus: proposed\\n\\n## Evidence for\\n\\n"
INPUTS = {
    "turn-01-interview-lena.md": (
        "WRITE source/interviews/lena.md | as she said\n"
        f"WRITE hypotheses/H-V1-report.md | {H1}- Lena ([x](../source/interviews/lena.md))\n"
    ),
    "turn-02-noise.md": "---\ndate: 2026-03-02\n---\nWRITE source/noise.md | lunch is at noon\n",
    "turn-03-interview-omar.md": (
        "ADD hypotheses/H-V1-report.md | - Omar (nobody knows where)\nTOUCH source/noise.md\n"
    ),
}


def says(judge: str, expected: str, **more: Any) -> dict[str, Any]:
    return {"judge": judge, "rubric": "judges/says.md", "expected_meaning": expected, **more}


EXPECTED: dict[str, Any] = {
    "scenario": "01-report",
    "description": "Three weeks.",
    "pass_threshold": {"structural": 1.0, "content": 0.8},
    "turns": [
        {
            "turn": 1,
            "input": "turn-01-interview-lena.md",
            "structural": [
                {"file_exists_glob": "source/interviews/*lena*.md"},
                {"hypothesis_count_at_least": 1},
                {"hypothesis_count_at_least": 2},
                "no_orphan_evidence",
            ],
            "content": [
                says("reads_a_glob", "Lena", target_glob="hypotheses/*.md"),
                says("reads_no_file", "no such file", target_file="decisions/x.md"),
                says("reads_the_reply", "asked"),
                says("reads_the_input", "as she said", target_glob="source/**/*.md"),
                says("not_there", "Omar", target_glob="hypotheses/*.md"),
            ],
        },
        {
            "turn": 2,
            "input": "turn-02-noise.md",
            "structural": [
                {"hypothesis_evidence_count_unchanged_for": "H2"},
                {"file_modified": "source/noise.md"},
                {"file_modified": "hypotheses/H-V1-report.md"},
            ],
        },
        {
            "turn": 3,
            "input": "turn-03-interview-omar.md",
            "structural": [
                {"hypothesis_evidence_count_increased_for": "H-V1"},
                {"file_modified_glob": "source/*.md"},
                "no_orphan_evidence",
            ],
            "content": [
                says("is_torn", "judge is torn"),
                says("is_unsure", "judge is unsure"),
                says("second_try", "asked 'TURN judge on second try"),
            ],
        },
    ],
    "final_state": {
        "structural": [{"all_internal_links_valid": True}],
        "content": [says("whole_folder", "lunch is at noon")],
    },
}


@pytest.fixture(scope="module")
def all_turns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done, Any]:
    root = tmp_path_factory.mktemp("trajectory")
    made = project(root)
    scenario(root, "01-report", INPUTS, EXPECTED)
    return made, *played(made, "scenarios/01-report")


WORDS = {
    "t01.file_exists_glob": "PASS",
    "t01.hypothesis_count_at_least": "PASS",
    "t01.hypothesis_count_at_least.2": "FAIL",
    "t01.no_orphan_evidence": "PASS",
    "t01.reads_a_glob": "PASS",
    "t01.reads_no_file": "FAIL",
    "t01.reads_the_reply": "PASS",
    "t01.reads_the_input": "PASS",
    "t01.not_there": "FAIL",
    "t02.hypothesis_evidence_count_unchanged_for": "PASS",
    "t02.file_modified": "PASS",
    "t02.file_modified.2": "FAIL",
    "t03.hypothesis_evidence_count_increased_for": "PASS",
    "t03.file_modified_glob": "PASS",
    "t03.no_orphan_evidence": "FAIL",
    "t03.is_torn": "UNCERTAIN",
    "t03.is_unsure": "UNCERTAIN",
    "t03.second_try": "FAIL",
    "final.all_internal_links_valid": "PASS",
    "final.whole_folder": "PASS",
}


@pytest.mark.slow
def test_every_assertion_is_looked_at_after_its_own_turn(
    all_turns: tuple[Project, Done, Any],
) -> None:
    _, done, report = all_turns
    assert done.code == 3, done
    assert words(report, "01-report") == WORDS
    seen = whys(report, "01-report")
    assert seen["t03.no_orphan_evidence"].startswith("1 of 2 lead to no source")
    assert seen["t03.is_torn"] == "unreadable twice: it has 2 VERDICT lines"
    assert seen["t03.is_unsure"] == "it may be"
    assert seen["t01.reads_no_file"] == "no file is decisions/x.md", "no judge passes what is not"


def test_a_judge_that_cannot_be_read_is_asked_once_more_and_an_unsure_one_never(
    all_turns: tuple[Project, Done, Any],
) -> None:
    frame = all_turns[0].tables("it").frame("calls")
    judging = frame[frame.role == "judge"]
    assert len(judging) == 8 + 2  # torn and second_try are asked again
    (run,) = all_turns[2]["runs"]
    errors = {one["id"]: one["error"] for one in run["results"] if one["error"]}
    assert errors == {"t03.is_torn": "JudgeUnreadable"}


def test_screen_tells_each_missed_assertion_with_its_evidence(
    all_turns: tuple[Project, Done, Any],
) -> None:
    out = all_turns[1].out
    assert "MISSED 01-report t03.is_unsure: UNCERTAIN" in out
    assert "1 of 2 lead to no source: hypotheses/H-V1-report.md: Omar" in out
    assert "what this supports: 1 run may come from a true rate as low as 2 %" in out
    assert "reports/trajectory/it.json" in out


def test_show_reads_as_the_weeks_passed(all_turns: tuple[Project, Done, Any]) -> None:
    shown = all_turns[0].matrix("show", "it", "worst").out
    assert "input [turn-02-noise.md, 2026-03-02]:" in shown
    assert "added source/noise.md" in shown
    assert "+- Omar (nobody knows where)" in shown
    assert "* assertion (warning) t03.no_orphan_evidence: FAIL: 1 of 2" in shown
    assert "date '2026-03-02'" in shown
    assert "lunch is at noon\n\n" not in shown.partition("afterwards")[2]  # material is not shown


def test_scores_are_shares_and_their_layers(all_turns: tuple[Project, Done, Any]) -> None:
    frame = all_turns[0].tables("it").frame("scores").set_index("name").value
    counts = [1.0 if word == "PASS" else 0.0 for word in WORDS.values()]
    assert frame["score"] == pytest.approx(sum(counts) / len(counts))
    assert frame["structural"] == pytest.approx(8 / 11)
    assert frame["content"] == pytest.approx(4 / 9)
    assert frame["t01.not_there"] == 0
    assert frame["no_orphan_evidence"] == 0.5


@pytest.mark.slow
def test_stopping_early_is_an_end_and_said_so(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    done, report = played(made, "scenarios/01-report", "--stop-after-turn", "2", "--skip-content")
    assert {name.partition(".")[0] for name in words(report, "01-report")} == {"t01", "t02"}
    assert all(one["layer"] == "structural" for one in report["assertions"])
    assert "ended after turn 2, as asked: no final state was judged" in done.out
    assert "no judge was asked: structural assertions only" in done.out
    assert report["runs"][0]["outcome"] == "completed"
    assert made.tables("it").frame("calls").role.unique().tolist() == ["agent"]


@pytest.mark.slow
@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("turn", [len(INPUTS), 99])
def test_a_stop_that_no_scenario_gets_to_cuts_nothing(
    tmp_path: Path, turn: int, final: bool
) -> None:
    made, expected = project(tmp_path), {k: v for k, v in EXPECTED.items() if k != "final_state"}
    scenario(tmp_path, "01-report", INPUTS, EXPECTED if final else expected)
    stop = ("--stop-after-turn", str(turn))
    done, report = played(made, "scenarios/01-report", *stop, "--skip-content")
    named = {name.partition(".")[0] for name in words(report, "01-report")}
    assert ("final" in named) == final
    assert "no final state was judged" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize("agents", [["mine"], ["mine", "cheap"]])
def test_what_no_run_of_a_variant_got_to_is_missed_all_the_same(
    tmp_path: Path, agents: list[str]
) -> None:
    """Every run of one variant ends at its limit of money after the first turn."""
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    spec = {
        **ADAPTER,
        "agents": ADAPTER["agents"] | {"cheap": {"python": "mine:work", "max_usd": 0.012}},
        "factors": {"agent": agents},
        "limits": {"session_usd": 0.055},
    }
    (tmp_path / "trajectory.yaml").write_text(json.dumps(spec))
    done, report = played(made, "scenarios/01-report", "--runs", "2", "--skip-content")
    assert report is not None, done
    ends = {(run["levels"].get("agent", "mine"), run["turns"]) for run in report["runs"]}
    assert ("mine", 1) in ends
    lost = {
        one["assertion"]: one["words"]
        for one in report["assertions"]
        if "cheap" not in one["variant"]
    }
    assert lost["t03.hypothesis_evidence_count_increased_for"] == {"UNREACHED": 2}
    assert lost["final.all_internal_links_valid"] == {"UNREACHED": 2}
    assert done.code == (3 if "cheap" in agents else 1), done  # 1: nothing at all was scored
    assert report["summary"]["missed"] >= 5


@pytest.mark.slow
def test_runs_are_held_against_thresholds(tmp_path: Path) -> None:
    made = project(tmp_path)
    good = {**EXPECTED, "turns": EXPECTED["turns"][:1], "final_state": {}}
    good["turns"] = [{"turn": 1, "structural": [{"hypothesis_count_at_least": 1}]}]
    scenario(tmp_path, "02-good", {"turn-01-x.md": INPUTS["turn-01-interview-lena.md"]}, good)
    done, report = played(made, "scenarios/02-good", "--runs", "3", "--json-results")
    assert done.code == 0, done
    (rate,) = report["assertions"]
    assert (rate["passed"], rate["runs"], rate["reached"]) == (3, 3, True)
    assert "3 of 3 runs may come from a true rate as low as 29 %" in done.out
    files = sorted(path.name for path in (made.folder / "results/it/json").iterdir())
    assert [name.partition("-02-good-")[2] for name in files] == ["1.json", "2.json", "3.json"]
    one = json.loads((made.folder / "results/it/json" / files[0]).read_text())
    assert one["results"][0]["id"] == "t01.hypothesis_count_at_least"
    assert len({run["inputs"] for run in report["runs"]}) == 1


@pytest.mark.slow
def test_a_folder_of_scenarios_is_a_suite(tmp_path: Path) -> None:
    made = project(tmp_path)
    for name in ("01-report", "02-other"):
        scenario(tmp_path, name, INPUTS, EXPECTED)
    done, report = played(made, "scenarios", "--skip-content")
    assert [run["scenario"] for run in report["runs"]] == ["01-report", "02-other"]
    assert "01-report  1     8 of 11 at 1" in done.out
    done, report = played(
        made, "trajectory.yaml", "--scenarios", "02", "--skip-content", run_id="b"
    )
    assert [run["scenario"] for run in report["runs"]] == ["02-other"]


@pytest.mark.slow
def test_a_turn_that_fails_is_told_and_the_weeks_go_on(tmp_path: Path) -> None:
    made = project(tmp_path)
    third = INPUTS["turn-03-interview-omar.md"].partition("TOUCH")[0]
    inputs = {**INPUTS, "turn-02-noise.md": "RAISE", "turn-03-interview-omar.md": third}
    scenario(tmp_path, "01-report", inputs, EXPECTED)
    done, report = played(made, "scenarios/01-report", "--skip-content")
    assert done.code == 3
    found = words(report, "01-report")
    assert found["t02.turn_ended"] == "FAIL"
    assert found["t02.file_modified"] == "FAIL"
    assert found["final.all_internal_links_valid"] == "PASS"
    assert "MISSED 01-report t02.turn_ended: FAIL" in done.out
    assert "ValueError: no" in whys(report, "01-report")["t02.turn_ended"]
    assert report["runs"][0]["outcome"] == "completed"


CRASHES = """
async def crashes(turn):
    if "CRASH" in turn.prompt:
        (turn.folder / "a.md").unlink()
        raise ValueError("after the harm")
    (turn.folder / "a.md").write_text("here")
    return "done"
"""


@pytest.mark.slow
@pytest.mark.parametrize("last", [True, False])
def test_nothing_that_is_expected_of_a_failed_turn_holds(tmp_path: Path, last: bool) -> None:
    """Its folder is put back, and what was harmed is there again: by no doing of the agent's."""
    agents = {"crashing": {"python": "crashes:crashes", "max_usd": 0.05}}
    adapter = {**ADAPTER, "agent": "crashing", "agents": {**ADAPTER["agents"], **agents}}
    made = project(tmp_path, adapter)
    (tmp_path / "crashes.py").write_text(CRASHES)
    inputs = {"turn-01-a.md": "one", "turn-02-b.md": "CRASH"}
    inputs |= {} if last else {"turn-03-c.md": "three"}
    there: dict[str, Any] = {"structural": [{"file_exists": "a.md"}]}
    judged = {**there, "content": [says("x", "judge passes")]}
    turns = [{"turn": number, **judged} for number in range(1, len(inputs) + 1)]
    expected = json.dumps({"turns": turns, "final_state": judged})  # an alias of YAML is refused
    scenario(tmp_path, "01", inputs, expected)
    done, report = played(made, "scenarios/01")
    assert done.code == 3, done
    found, told = words(report, "01"), whys(report, "01")
    assert (found["t01.file_exists"], found["t02.file_exists"]) == ("PASS", "FAIL")
    assert told["t02.file_exists"] == "its turn failed, and the folder is as it was before it"
    assert found["final.file_exists"] == ("FAIL" if last else "PASS")
    assert found.get("t03.file_exists", "PASS") == "PASS"
    calls = made.tables("it").frame("calls")
    assert (calls.role == "judge").sum() == (1 if last else 3), "of what was left to be judged"
    assert (found["t01.x"], found["t02.x"]) == ("FAIL", "FAIL")
    assert told["t02.x"] == told["t02.file_exists"]
    events = made.tables("it").frame("events")
    assert not events[events.kind == "assertion"].subject.duplicated().any()


@pytest.mark.slow
def test_an_agent_that_fails_every_turn_has_failed(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", dict.fromkeys(INPUTS, "RAISE"), EXPECTED)
    done, report = played(made, "scenarios/01-report", "--skip-content")
    assert done.code == 1  # nothing was scored
    assert "FAILED 01-report, run 1: the agent failed in every turn" in done.out
    assert report["runs"][0]["outcome"] == "failed"
    assert report["summary"]["missed"] == len(report["assertions"]) - sum(
        one["reached"] is True for one in report["assertions"]
    )


MINE = {"python": "mine:work", "max_usd": 0.05}
TIMED = {"short": {**MINE, "timeout_s": 7}, "long": {**MINE, "timeout_s": 900}, "any": MINE}
ONE_TURN = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, {"short": 7, "long": 900, "any": 600}),
        ({"turn_timeout_s": 20}, {"short": 7, "long": 20, "any": 20}),
    ],
)
@pytest.mark.parametrize("compared", [False, True])
def test_of_an_agents_own_longest_turn_and_the_tests_the_shorter_holds_wherever_it_stands(
    more: dict[str, Any], seconds: dict[str, int], compared: bool, tmp_path: Path
) -> None:
    who = {"factors": {"agent": list(TIMED)}} if compared else {"agent": "short"}
    adapter = {"version": 1, "scenarios": "scenarios", "rubrics": "judges", "agents": TIMED}
    made = project(tmp_path, {**adapter, **who, **more})
    scenario(tmp_path, "01", {"turn-01-x.md": "WRITE a.md | x"}, ONE_TURN)
    done, _ = played(made, "trajectory.yaml", "--skip-content")
    assert done.code == 0, done.out + done.err
    said = made.tables("it").frame("messages").text
    found = sorted(int(text.split("; ")[-1].removesuffix(" s")) for text in said if " s" in text)
    assert found == sorted(seconds.values() if compared else [seconds["short"]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("timeout_s", "told"), [(0.001, "still worked after 0.001 s, and was ended"), (86_400, "")]
)
def test_the_built_in_agent_has_a_longest_turn_too(
    timeout_s: float, told: str, tmp_path: Path
) -> None:
    built = {"tools": ["write", "list"], "model": "sim/haiku", "timeout_s": timeout_s}
    made = project(tmp_path, {**ADAPTER, "agent": "built", "agents": {"built": built}})
    scenario(tmp_path, "01", {"turn-01-x.md": "An interview."}, ONE_TURN)
    _, report = played(made, "trajectory.yaml", "--skip-content")
    assert whys(report, "01").get("t01.turn_ended", "").endswith(told)
    assert ("t01.turn_ended" in words(report, "01")) is bool(told)


@pytest.mark.slow
def test_a_judge_that_breaks_leaves_it_open_and_is_no_pass(tmp_path: Path) -> None:
    made = project(tmp_path)
    expected = {"turns": [{"turn": 1, "content": [says("broken", "judge raises")]}]}
    scenario(tmp_path, "03", {"turn-01-x.md": "WRITE a.md | x"}, expected)
    done, report = played(made, "scenarios/03")
    assert done.code == 1  # nothing was scored
    assert words(report, "03") == {"t01.broken": "UNJUDGED"}
    (rate,) = report["assertions"]
    assert rate["reached"] is None
    assert "OPEN 03 t01.broken: UNJUDGED" in done.out
    frame = made.tables("it").frame("scores").set_index("name").value
    assert frame.isna()["score"]


@pytest.mark.slow
def test_an_assertion_gets_the_judge_it_asks_for_or_it_is_said_who_judges_instead(
    tmp_path: Path,
) -> None:
    strict = {"python": "strict:reply", "free": True}
    made = project(tmp_path, {**ADAPTER, "agents": {**ADAPTER["agents"], "strict": strict}})
    (tmp_path / "strict.py").write_text(
        "async def reply(turn):\n    return 'VERDICT: FAIL - it is strict'\n"
    )
    asks = [says(name, "x", model=name) for name in ("strict", "sim/haiku", "opus")]
    expected = {"turns": [{"turn": 1, "content": asks}]}
    scenario(tmp_path, "03", {"turn-01-x.md": "WRITE a.md | x"}, expected)
    told = " ".join(made.matrix("validate", "scenarios/03").out.split())
    note = "03: model: opus (in 1 place) is judged by judge, as all others are: nothing stands"
    assert note in told
    assert told.count("nothing stands for it") == 1
    played(made, "scenarios/03")
    calls = made.tables("it").frame("calls")
    assert set(calls[calls.role == "judge"].model) == {"strict", "sim/haiku", "judge"}


@pytest.mark.slow
def test_the_cost_of_a_turn_has_what_it_overran_and_only_finished_turns_count(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    scenario(
        tmp_path, "03", {"turn-01-x.md": "OVERRUN", "turn-02-x.md": "WRITE a.md | x"}, ANYTHING
    )
    done, report = played(made, "scenarios/03")
    session = made.tables("it").frame("sessions").iloc[0]
    assert (session.outcome, session.turns) == ("censored", 1)
    charged = sum(one["usd"] for one in report["spent"])
    calls = made.tables("it").frame("calls")
    assert charged == pytest.approx((calls.cost_nano.sum() + calls.overrun_nano.sum()) / 1e9)
    assert calls.overrun_nano.sum() > 0, done


SPENDER = """
import asyncio
from pathlib import Path
from matrix.agents import Reply

LOG = Path(__file__).parent / "results" / "it" / "log.jsonl"

async def overcharge(turn):
    return Reply("done", 1.0)

async def good(turn):
    while not (LOG.exists() and "money.overrun" in LOG.read_text()):
        await asyncio.sleep(0.01)
    return Reply("done", 0.01)
"""


@pytest.mark.slow
def test_an_overrun_says_whose_it_is_and_who_was_stopped_for_it(tmp_path: Path) -> None:
    (tmp_path / "spend.py").write_text(SPENDER)
    agents = {
        **{n: {"python": f"spend:{n}", "max_usd": 0.3} for n in ("overcharge", "good")},
        "judge": ADAPTER["agents"]["judge"],
    }
    own = {name: item for name, item in ADAPTER.items() if name != "agent"}
    made = project(
        tmp_path, {**own, "agents": agents, "factors": {"agent": ["overcharge", "good"]}}
    )
    scenario(tmp_path, "01", {"turn-01-x.md": "x", "turn-02-x.md": "x"}, ANYTHING)
    done, _ = played(made, "scenarios/01")
    told = "overrun: an attempt of agent overcharge cost $1.00 on a hold of $0.30"
    for line in (
        f"CENSORED 01 (agent overcharge), run 1: {told}, so nothing more is sent in this run",
        f"CENSORED 01 (agent good), run 1: {told} in another session, and this one was stopped for",
    ):
        assert line in done.out, done
    assert "ERROR" not in done.out
    log = (made.path("it") / "log.jsonl").read_text().splitlines()
    (event,) = [one for one in map(json.loads, log) if one["event"] == "money.overrun"]
    assert (event["agent"], event["cost_usd"], event["hold_usd"]) == ("overcharge", 1.0, 0.3)


@pytest.mark.slow
def test_folders_and_commands_come_in_too(tmp_path: Path) -> None:
    made = project(tmp_path)
    inputs = {
        "turn-01-bulk/a.md": "one",
        "turn-01-bulk/b/c.md": "two",
        "turn-02-command.md": "/review\n",
        "turn-03-2026-04-01-note.txt": "plain",
    }
    expected = {
        "turns": [
            {"turn": 1, "structural": [{"file_exists": "inbox/turn-01-bulk/b/c.md"}]},
            {"turn": 2, "content": [says("asked", "asked '/review'; date")]},
            {"turn": 3, "content": [says("dated", "date '2026-04-01'")]},
            {"turn": 4, "command": "/sweep now", "content": [says("own", "asked '/sweep now'")]},
            {
                "turn": 5,
                "command": "/sweep",
                "date": "2026-05-01",
                "content": [says("told", "asked '/sweep\\n\\n(It is 2026-05-01.)'")],
            },
        ]
    }
    scenario(tmp_path, "04", inputs, expected)
    done, report = played(made, "scenarios/04")
    assert done.code == 0, done.out + done.err
    assert list(words(report, "04").values()) == ["PASS"] * 5
    frame = made.tables("it").frame("messages")
    came = frame[(frame.speaker == "input") & (frame.turn == 1)].text.iloc[0]
    assert "File inbox/turn-01-bulk/a.md:\none\n" in came, "judges and readers see what came in"
    assert came.endswith("File inbox/turn-01-bulk/b/c.md:\ntwo")


@pytest.mark.slow
def test_a_scaffold_begins_every_session_anew_and_several_are_compared(tmp_path: Path) -> None:
    for name in ("plain", "rich"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "NOTES.md").write_text(name)
    made = project(tmp_path, {**ADAPTER, "scaffold": {"plain": "plain", "rich": "rich"}})
    expected = {"turns": [{"turn": 1, "structural": [{"file_contains_any": "NOTES.md ; rich"}]}]}
    scenario(tmp_path, "05", {"turn-01-x.md": "WRITE a.md | x"}, expected)
    done, report = played(made, "scenarios/05", "--runs", "2")
    assert done.code == 3
    found = {(one["variant"], one["passed"], one["runs"]) for one in report["assertions"]}
    assert found == {("scaffold plain", 0, 2), ("scaffold rich", 2, 2)}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("first", ["plain", "rich"])
def test_judged_again_it_has_the_variants_in_their_order_and_no_other_folders(
    tmp_path: Path, first: str
) -> None:
    for name in ("plain", "rich"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "NOTES.md").write_text(name)
    names = [first, "rich" if first == "plain" else "plain"]
    made = project(tmp_path, {**ADAPTER, "scaffold": {name: name for name in names}})
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    played(made, "scenarios/01-report", "--runs", "3")
    again = ("rejudge", "it", "--judge", "sim/opus", "--executor", "in-process", "--run-id", "two")
    assert made.matrix(*again).code in (0, 3)
    for run in ("it", "two"):
        kept = json.loads((made.folder / "results" / run / "run.json").read_text())
        assert kept["plan"]["factors"]["scaffold"] == names
    compared = made.matrix("compare", "it", "two")
    assert "judge the same transcripts" in compared.out, compared
    assert "Other in" not in compared.out


@pytest.mark.slow
def test_own_checks_are_run_only_where_that_is_allowed(tmp_path: Path) -> None:
    made = project(tmp_path)
    held = ("has_lines", "sees")
    names = ("has_lines", "breaks", "leaves", "lists", "tells", "sees")
    arguments = {"has_lines": 2, "leaves": 0}
    asked = [{name: arguments.get(name, 1)} for name in names]
    expected = {"turns": [{"turn": 1, "structural": asked}]}
    folder = scenario(tmp_path, "06", {"turn-01-x.md": "WRITE a.md | x\\ny"}, expected)
    (folder / "checks.py").write_text(
        "def has_lines(view, argument):\n"
        "    found = len(view.text('a.md').split())\n"
        "    return found == argument or f'found {found}'\n"
        "def breaks(view, argument):\n    raise KeyError(argument)\n"
        "def leaves(view, argument):\n    raise SystemExit(argument)\n"
        "def lists(view, argument):\n    view.now.clear()\n    return ['a reason']\n"
        "def tells(view, argument):\n    import os\n    return os.environ['GITHUB_TOKEN']\n"
        "def sees(view, argument):\n    return 'a.md' in view.now\n"
    )
    made = replace(made, environment={"GITHUB_TOKEN": "ghq-canary-7f3a"})
    done, _ = played(made, "scenarios/06")
    assert done.code == 2
    assert "has_lines is code of the scenario's own (checks.py); --allow-code runs it" in done.err
    done, report = played(made, "scenarios/06", "--allow-code", run_id="b")
    found = {f"t01.{name}": "PASS" if name in held else "FAIL" for name in names}
    assert (done.code, words(report, "06")) == (3, found)
    assert whys(report, "06")["t01.lists"].startswith(
        "the check gave back ['a reason']; it is true"
    )
    kept = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"ghq-canary-7f3a" not in kept + (done.out + done.err).encode()
    assert whys(report, "06")["t01.leaves"] == "the check broke in line 7: SystemExit: 0"
    assert whys(report, "06")["t01.breaks"] == "the check broke in line 5: KeyError: 1"


@pytest.mark.slow
@pytest.mark.parametrize("code", ["import nowhere", "raise SystemExit(0)"])
def test_own_checks_that_cannot_be_loaded_are_told_before_the_start(
    tmp_path: Path, code: str
) -> None:
    made = project(tmp_path)
    folder = scenario(tmp_path, "06", {"turn-01-x.md": "x"}, ANYTHING)
    (folder / "checks.py").write_text(code)
    done = made.matrix("run", "scenarios/06", "--allow-code", "--executor", "in-process")
    assert done.code == 2, done
    assert "06/checks.py: cannot be loaded: " in done.err
    assert made.matrix("validate", "scenarios/06").code == 0, "nothing is run there"


@pytest.mark.slow
def test_a_check_is_a_plain_function(tmp_path: Path) -> None:
    made = project(tmp_path)
    folder = scenario(tmp_path, "06", {"turn-01-x.md": "x"}, {"turns": [{"turn": 1}]})
    (folder / "checks.py").write_text("async def later(view, argument):\n    return True\n")
    done = made.matrix("plan", "scenarios/06", "--allow-code")
    assert done.code == 2, done
    assert "06/checks.py: later is async; a check is a plain def" in done.err


def test_scaffolds_and_agents_are_crossed(tmp_path: Path) -> None:
    own = {name: item for name, item in ADAPTER.items() if name != "agent"}
    agents = {**ADAPTER["agents"], "other": ADAPTER["agents"]["mine"]}
    more = {"scaffold": {"one": "one", "two": "two"}, "factors": {"agent": ["mine", "other"]}}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    made = project(tmp_path, {**own, **more, "agents": agents})
    scenario(tmp_path, "07", {"turn-01-x.md": "x"}, ANYTHING)
    done = made.matrix("plan", "scenarios/07", "--json")
    assert done.code == 0, done
    factors = json.loads(done.out)["factors"]
    assert factors == {"scaffold": ["one", "two"], "agent": ["mine", "other"]}


@pytest.mark.slow
def test_a_model_is_given_where_one_plays(tmp_path: Path) -> None:
    levels = {"factors": {"agent": ["mine", "other"]}}
    own = {name: item for name, item in ADAPTER.items() if name != "agent"}
    agents = {**ADAPTER["agents"], "other": ADAPTER["agents"]["mine"]}
    made = project(tmp_path, {**own, **levels, "agents": agents})
    scenario(tmp_path, "07", {"turn-01-x.md": "x"}, ANYTHING)
    flags = ("--turn-model", "sim/haiku", "--dry-run")
    done = made.matrix("run", "scenarios/07", *flags)
    assert done.code == 2, done
    told = "--turn-model: says who plays where one does; factors.agent has mine, other"
    assert told in done.err
    (tmp_path / "trajectory.yaml").write_text(
        json.dumps({**own, "factors": {"agent": ["claude", "mine"]}})
    )
    done = made.matrix("run", "scenarios/07", *flags)
    assert done.code == 0, done
    assert "agent claude" in done.out or "claude" in done.out


@pytest.mark.slow
def test_variables_say_what_flags_say(tmp_path: Path) -> None:
    project(tmp_path, {"rubrics": "judges"})
    scenario(
        tmp_path, "07", {"turn-01-x.md": "x"}, {"turns": [{"turn": 1, "content": [says("a", "x")]}]}
    )
    told = {
        "MATRIX_TURN_MODEL": "sim/haiku",
        "MATRIX_JUDGE_MODEL": "sim/opus",
        "MATRIX_TURN_TIMEOUT": "7",
    }
    done = Project(tmp_path, told).matrix("run", "scenarios/07", "--dry-run")
    assert "agent sim/haiku, judge sim/opus" in done.out
    assert "agent timeout_s=7" in done.out
    done = Project(tmp_path, told).matrix(
        "run", "scenarios/07", "--dry-run", "--turn-model", "sim/gpt-4o"
    )
    assert "agent sim/gpt-4o, judge sim/opus" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("order", ["DELETE hypotheses/H-V1-report.md", "LINK hypotheses/H-V9.md"])
def test_hostile_agents_change_verdicts_and_nothing_else(tmp_path: Path, order: str) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", {**INPUTS, "turn-03-interview-omar.md": order}, EXPECTED)
    done, report = played(made, "scenarios/01-report", "--skip-content")
    assert done.code == 3
    (run,) = report["runs"]
    assert run["outcome"] == "completed"
    assert "root:" not in json.dumps(report)


@pytest.mark.slow
def test_links_that_an_agent_made_are_shown_and_not_followed(tmp_path: Path) -> None:
    made = project(tmp_path)
    inputs = {
        "turn-01-x.md": "LINK one.md",
        "turn-02-x.md": "WRITE a.md | x",
        "turn-03-x.md": "\n".join(f"LINK l{number:02}.md" for number in range(25)),
    }
    scenario(tmp_path, "01", inputs, {"turns": [{"turn": 2, **ANYTHING["turns"][0]}]})
    played(made, "scenarios/01")
    (session,) = made.tables("it").frame("sessions").session_id
    shown = made.matrix("show", "it", session, "--full").out
    assert shown.count("made a link, which is not followed: one.md -> /etc/passwd") == 1
    assert shown.count("made a link") == 1 + 20
    assert "and 5 more links" in shown
    assert "nothing changed" not in shown
    assert "root:" not in shown


@pytest.mark.slow
def test_what_cannot_be_kept_fails_the_turn(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", {**INPUTS, "turn-02-noise.md": "ODD pipe"}, EXPECTED)
    done, report = played(made, "scenarios/01-report", "--skip-content")
    assert done.code == 3
    assert "left what cannot be kept" in whys(report, "01-report")["t02.turn_ended"]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("NAME", r"the name 'bad\xff.md' in the working folder is no UTF-8"),
        ("TIME late.md", "late.md has a modification time 10000000000 s after 1970"),
        ("FLOOD x | 20100", "holds 20,105 files, folders and links, and at most 20,000 are kept"),
    ],
)
def test_a_folder_that_cannot_be_kept_fails_its_turn_and_no_report(
    tmp_path: Path, order: str, told: str
) -> None:
    made = project(tmp_path)
    third = INPUTS["turn-03-interview-omar.md"].partition("TOUCH")[0]  # of what turn 2 did
    inputs = {**INPUTS, "turn-02-noise.md": order, "turn-03-interview-omar.md": third}
    scenario(tmp_path, "01-report", inputs, EXPECTED)
    done, report = played(made, "scenarios/01-report", "--skip-content", "--keep-workdir")
    assert done.code == 3, done
    assert "Traceback" not in done.out + done.err
    assert words(report, "01-report")["t02.turn_ended"] == "FAIL"
    assert told in whys(report, "01-report")["t02.turn_ended"]
    assert words(report, "01-report")["final.all_internal_links_valid"] == "PASS"
    (kept,) = (made.folder / "results" / "it" / "workdirs").iterdir()
    assert not list(kept.glob("bad*")) + list(kept.glob("flood*")) + list(kept.glob("late*"))


@pytest.mark.slow
def test_a_report_that_cannot_be_written_is_not_announced(tmp_path: Path) -> None:
    made = project(tmp_path)
    (tmp_path / "reports").write_text("no folder")
    good = {"turns": [{"turn": 1, "structural": [{"hypothesis_count_at_least": 1}]}]}
    scenario(tmp_path, "02", {"turn-01-x.md": INPUTS["turn-01-interview-lena.md"]}, good)
    done = made.matrix(
        "run", "scenarios", "--executor", "in-process", "--run-id", "it", "--keep-workdir"
    )
    assert done.code == 1, done
    assert "every assertion of every run is in" not in done.out
    assert "error: reports/trajectory/it.json could not be written" in done.err
    assert "working folders are in workdirs" in done.out  # which were written all the same
    assert (tmp_path / "results/it/workdirs/02-1/source/interviews/lena.md").is_file()


@pytest.mark.slow
def test_working_folders_are_kept_where_that_is_asked(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    done, _ = played(made, "scenarios/01-report", "--skip-content", "--keep-workdir", "--runs", "2")
    folder = made.folder / "results" / "it" / "workdirs"
    assert sorted(path.name for path in folder.iterdir()) == ["01-report-1", "01-report-2"]
    assert (folder / "01-report-2" / "source" / "noise.md").read_text() == "lunch is at noon\n"
    assert "working folders are in workdirs of the run's folder" in done.out


@pytest.mark.slow
def test_a_pinned_final_state_is_what_later_runs_are_held_against(tmp_path: Path) -> None:
    made = project(tmp_path, {**ADAPTER, "snapshots": "pinned"})
    (tmp_path / "pinned").mkdir()
    good = {"turns": [{"turn": 1, "structural": [{"hypothesis_count_at_least": 1}]}]}
    inputs = {"turn-01-a.md": INPUTS["turn-01-interview-lena.md"]}
    folder = scenario(tmp_path, "02-good", inputs, good)
    done, _ = played(made, "scenarios/02-good")
    assert done.code == 0, done
    assert "02-good: nothing is pinned of it in " in " ".join((done.out + done.err).split())
    pinned = made.matrix("export", "it", "--snapshot", "pinned")
    assert pinned.code == 0, pinned
    done, report = played(made, "scenarios/02-good", run_id="same")
    assert words(report, "02-good")["final.as_pinned"] == "PASS"
    more = "ADD hypotheses/H-V1-report.md | - Omar, too\nWRITE stray.md | x\n"
    (folder / "inputs" / "turn-01-a.md").write_text(inputs["turn-01-a.md"] + more)
    done, report = played(made, "scenarios/02-good", run_id="other")
    assert done.code == 3
    assert whys(report, "02-good")["final.as_pinned"] == (
        "H-V1: for was 1, is 2; orphans was 0, is 1; the top had 0 files, has 1"
    )
    refused = made.matrix("export", "it", "--snapshot", "pinned")
    assert refused.code == 2
    assert "--force" in refused.err
    (folder / "inputs" / "turn-01-a.md").write_text("x")
    played(made, "scenarios/02-good", run_id="bad")
    refused = made.matrix("export", "bad", "--snapshot", "elsewhere")
    told = "--snapshot: 02-good: no run of it came to its final state without a failure"
    assert told in refused.err


GOOD_PIN = {
    "version": 1,
    "hypotheses": {},
    "decisions": 0,
    "files": {},
    "links_valid": True,
    "orphans": 0,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "pinned",
    [
        "[]", "null", "5", "not json", "{}", json.dumps({**GOOD_PIN, "version": 99}),
        json.dumps({**GOOD_PIN, "hypotheses": {"H-V1": "x"}}),
        json.dumps({**GOOD_PIN, "orphans": -3}), "a link", "a pipe",
    ],
)  # fmt: skip
def test_a_pin_that_is_none_is_told_before_the_start(tmp_path: Path, pinned: str) -> None:
    made = project(tmp_path, {**ADAPTER, "snapshots": "pinned"})
    scenario(tmp_path, "08", {"turn-01-x.md": "x"}, {"turns": [{"turn": 1}]})
    place = tmp_path / "pinned" / "08.json"
    place.parent.mkdir()
    if pinned == "a link":
        place.symlink_to("/etc/passwd")
    elif pinned == "a pipe":
        os.mkfifo(place)
    else:
        place.write_text(pinned)
    done = made.matrix("run", "scenarios/08", "--executor", "in-process")
    assert done.code == 2, done
    assert "08.json: " in done.err
    assert "Traceback" not in done.err
    place.unlink()
    place.write_text(json.dumps(GOOD_PIN))
    assert made.matrix("validate", "scenarios/08").code == 0


@pytest.mark.slow
def test_variants_that_end_in_different_shapes_have_no_pin_in_common(tmp_path: Path) -> None:
    made = project(tmp_path, {**ADAPTER, "scaffold": {"small": "small", "full": "full"}})
    for name in ("small", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "more.md").write_text("x")
    inputs = {"turn-01-a.md": "WRITE a.md | x"}
    expected = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]}
    scenario(tmp_path, "01", inputs, expected)
    over = {"turns": [{"turn": 1, "structural": [{"file_exists": "more.md"}]}]}
    scenario(tmp_path, "02", inputs, over)
    done, _ = played(made, "scenarios")
    assert done.code == 3, done
    pinned = made.matrix("export", "it", "--snapshot", "pinned")
    assert pinned.code == 0, pinned
    assert pinned.out.split() == ["pinned/02.json"]
    told = "not pinned: 01: scaffold full and scaffold small ended in different shapes; pin a run"
    assert told in pinned.err


@pytest.mark.slow
def test_a_session_goes_on_from_any_turn_with_its_folder(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    played(made, "scenarios/01-report", "--skip-content")
    done = made.matrix(
        "replay", "it", "worst", "--turn", "1", "--executor", "in-process", "--run-id", "again"
    )
    assert done.code in (0, 3), done
    frame = made.tables("again").frame("events")
    seen = frame[frame.kind == "assertion"].set_index("subject").detail
    told = "turn 1 was played in the run that this goes on from: what structural assertions missed"
    assert told in done.out
    assert seen["t03.no_orphan_evidence"].startswith("FAIL: 1 of 2 lead to no source")
    assert seen["t02.file_modified"].startswith("PASS")


@pytest.mark.slow
@pytest.mark.slow
def test_a_branch_is_expected_to_cost_the_turns_left_and_all_its_judges(tmp_path: Path) -> None:
    """Judges are asked about inherited turns, too; the agent plays what is left."""
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    played(made, "scenarios/01-report")
    run = made.folder / "results" / "it"
    session = str(made.tables("it").frame("sessions").session_id.iloc[0])
    turns = len(INPUTS)
    found = {}
    for turn in (0, turns - 1, turns):
        planned = plan_branch(run, session, turn=turn, variants={"judge": ["judge", "mine"]})
        cost, _ = planned.continuation.prepared.cell_costs
        found[turn] = {role: cost.of(role).middle for role in ("agent", "judge")}
    whole = found[0]
    assert all(whole.values())
    assert {one["judge"] for one in found.values()} == {whole["judge"]}
    assert 0 < found[turns - 1]["agent"] < 0.7 * whole["agent"]
    assert found[turns]["agent"] == 0


@pytest.mark.slow
def test_other_judges_judge_the_same_material_again(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    played(made, "scenarios/01-report")
    done = made.matrix(
        "rejudge", "it", "--judge", "sim/opus", "--executor", "in-process", "--run-id", "again"
    )
    assert done.code in (0, 3), done
    assert "in the run that this goes on from" not in done.out  # nothing of it was played anew
    frame = made.tables("again").frame("calls")
    assert set(frame.role) == {"judge"}
    assert set(frame.model) == {"sim/opus"}
    before = made.tables("it").frame("scores").set_index("name").value
    after = made.tables("again").frame("scores").set_index("name").value
    assert after["structural"] == before["structural"]


@pytest.mark.slow
def test_a_run_that_a_cap_cut_short_goes_on_to_the_same_end(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    _, whole = played(made, "scenarios/01-report", run_id="whole")
    done, _ = played(made, "scenarios/01-report", "--max-cost", "0.07", run_id="cut")
    assert done.code == 4, done
    done = made.matrix("resume", "cut", "--max-cost", "5", "--executor", "in-process")
    assert done.code == 3, done
    report = json.loads((made.folder / "reports/trajectory/cut.json").read_text())
    assert words(report, "01-report") == words(whole, "01-report") == WORDS
    calls = made.tables("cut").frame("calls")
    paid = calls[calls.disposition == "settled"]
    assert len(paid) == len(made.tables("whole").frame("calls"))


CLAUDE = """#!{python}
import json, pathlib, sys
asked = sys.stdin.read()
told = sys.argv[1:]
assert pathlib.Path.home() != pathlib.Path.cwd().parent, "its login is in its user's home"
assert str(pathlib.Path.home()) == {home!r}
model = told[told.index("--model") + 1]
if "# You are the judge" in asked:
    said = f"VERDICT: PASS - {{model}} says so"
else:
    pathlib.Path("seen.md").write_text(asked)
    said = f"{{model}} wrote " + " ".join(told)
answer = {{"result": said, "total_cost_usd": 0.02, "usage": {{"input_tokens": 9}}}}
print(json.dumps({{**answer, "is_error": "and fail" in asked}}))
"""


@pytest.mark.slow
def test_claude_p_is_tested_and_judges(tmp_path: Path) -> None:
    made = project(tmp_path, {"agent": "claude", "judge": "claude", "scenarios": "scenarios"})
    program = tmp_path / "my-claude"
    program.write_text(CLAUDE.format(python=sys.executable, home=str(Path.home())))
    program.chmod(0o755)
    asked = [says("by_default", "x"), says("by_opus", "x", model="opus")]
    expected = {
        "turns": [{"turn": 1, "structural": [{"file_modified": "seen.md"}], "content": asked}]
    }
    scenario(tmp_path, "08", {"turn-01-x.md": "hello"}, expected)
    done, report = played(
        made, "scenarios/08", "--turn-model", "haiku", MATRIX_CLAUDE_BIN=str(program)
    )
    assert done.code == 0, done.out + done.err
    seen = whys(report, "08")
    assert (seen["t01.by_default"], seen["t01.by_opus"]) == ("sonnet says so", "opus says so")
    assert "haiku wrote -p --output-format json" in made.matrix("show", "it", "worst").out
    assert made.tables("it").frame("calls").cost_nano.sum() == 60_000_000
    assert "many agents read" not in done.err, "nothing is around"
    (tmp_path / "CLAUDE.md").write_text("Speak of the project.")
    inputs = {"turn-01-x.md": "hello and fail", "turn-02-y.md": "hello"}
    second = {"turns": [{"turn": 2, "structural": [{"file_exists": "seen.md"}]}]}
    scenario(tmp_path, "09", inputs, second)
    done, report = played(made, "scenarios/09", run_id="b", MATRIX_CLAUDE_BIN=str(program))
    assert words(report, "09") == {"t01.turn_ended": "FAIL", "t02.file_exists": "PASS"}
    assert whys(report, "09")["t01.turn_ended"].startswith("says that it failed: ")
    assert made.tables("b").frame("calls").cost_nano.sum() == 40_000_000, "it costs all the same"
    assert f"below {tmp_path}/CLAUDE.md, which many agents read" in done.err


@pytest.mark.slow
def test_an_agent_judges_by_a_listed_rubric_as_well(tmp_path: Path) -> None:
    """The session's folder is not where a judge works, whose list ever it is of."""
    made = project(
        tmp_path, {**ADAPTER, "judges": [{"rubric": "file://tone.md", "model": "judge"}]}
    )
    (tmp_path / "tone.md").write_text("---\nanswer: verdict\n---\n# Tone\n\nIs it calm?\n")
    scenario(tmp_path, "01-report", INPUTS, EXPECTED)
    done, _ = played(made, "scenarios/01-report")
    assert done.code == 3, done
    again = ("rejudge", "it", "--rubric", "file://tone.md", "--judge", "judge", "--run-id", "again")
    done = made.matrix(*again, "--executor", "in-process")
    assert done.code in (0, 3), done
    for run in ("it", "again"):
        assert set(made.tables(run).frame("sessions").outcome) == {"completed"}
        scores = made.tables(run).frame("scores")
        assert scores[scores.name == "tone"].value.notna().all()
        assert (scores.name == "tone").any()


WAVERING = """
import hashlib

async def wavers(turn):
    (turn.folder / "a.md").write_text("x")
    if hashlib.sha256(turn.session.encode()).digest()[0] % 3 == 0:
        (turn.folder / "more.md").write_text("x")
    return "done"
"""


@pytest.mark.slow
def test_the_shape_that_is_pinned_is_that_of_most_runs_and_it_is_said_whose(
    tmp_path: Path,
) -> None:
    agents = {"mine": {"python": "wavers:wavers", "free": True}}
    made = project(tmp_path, {**ADAPTER, "agents": {**ADAPTER["agents"], **agents}})
    (tmp_path / "wavers.py").write_text(WAVERING)
    expected = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]}
    scenario(tmp_path, "01", {"turn-01-a.md": "go"}, expected)
    done, _ = played(made, "scenarios/01", "--runs", "9")
    assert done.code == 0, done
    pinned = made.matrix("export", "it", "--snapshot", "pinned")
    assert pinned.code == 0, pinned
    kept = json.loads((tmp_path / "pinned" / "01.json").read_text())["files"][""]
    found = re.search(r"that of (\d) of 9 without a failure, run \d among them", pinned.err)
    assert found is not None, pinned
    assert kept == 1  # without more.md, as two of three runs end
    assert 5 <= int(found[1]) < 9
