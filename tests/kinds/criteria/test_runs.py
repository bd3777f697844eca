"""Criteria tests through the command line: agents and a judge that lie, chains, recordings.

Agents and the judge here are functions that do what the input's own words say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.executors.programs import Project

MINE = '''
import re
from matrix.agents import Reply

async def first(turn):
    if "first raises" in turn.prompt:
        raise ValueError("no")
    return Reply("first of " + turn.prompt, 0.0)

async def second(turn):
    return Reply("second of " + turn.prompt, 0.0)

async def risk(turn):
    return Reply("Overall risk: " + ("HIGH" if "danger" in turn.prompt else "LOW"), 0.0)

FORM = """## Criteria Evaluation
{lines}

## Verdict
**{verdict}**

## Reasoning
it is so
"""

async def judge(turn):
    system, asked = turn.messages[0].content, turn.prompt
    criteria = re.findall(r"^[0-9]+[.] (.+)$", system.partition("Answer in")[0], re.M)
    if "judge says nothing" in asked:
        return ""
    if "judge mute on gamma" in asked and criteria[0].startswith("gamma"):
        return ""
    if "judge says words" in asked:
        return "all excellent"
    if "judge stops short" in asked:
        return "## Criteria Evaluation\\n1. " + criteria[0] + ": MET - yes"
    if "judge contradicts itself" in asked:
        return "1. a: MET\\n2. b: MET\\n1. a: NOT MET\\n\\n## Verdict\\n**PASS**"
    if "judge on second try" in asked and "could not be read" not in asked:
        return "Hm."
    lost = [n for n, one in enumerate(criteria, 1) if f"lacks {one.split()[0]}" in asked]
    lines = "\\n".join(
        f"{n}. {one}: {'NOT MET' if n in lost else 'MET'} - because"
        for n, one in enumerate(criteria, 1)
    )
    verdict = "FAIL" if lost else "PASS"
    if "judge lies" in asked:
        verdict = "PASS" if verdict == "FAIL" else "FAIL"
    if "judge two verdicts" in asked:
        verdict = "PASS** **FAIL"
    return FORM.format(lines=lines, verdict=verdict)
'''

INPUTS = {
    "plain": "an idea",
    "weak": "it lacks alpha",
    "broken": "it lacks alpha and it lacks beta",
    "risky": "danger ahead",
    "mute": "judge says nothing",
    "wordy": "judge says words",
    "short": "judge stops short",
    "torn": "judge contradicts itself",
    "again": "judge on second try",
    "liar": "judge lies, it lacks alpha and it lacks beta",
    "both": "judge two verdicts",
    "dead": "first raises",
}


def agent(function: str, **more: Any) -> dict[str, Any]:
    return {"run": {"python": f"mine:{function}", "free": True}, **more}


FILE: dict[str, Any] = {
    "version": 1,
    "inputs": [
        {"id": name, "category": "odd" if name in ("dead", "mute") else "even", "text": text}
        for name, text in INPUTS.items()
    ],
    "judge": {"run": {"python": "mine:judge", "free": True}},
    "roles": {"agent": "sim/gpt-4o-mini"},
    "agents": {
        "first": agent("first", criteria=["alpha is there", "beta is there"], fail_threshold=2),
        "risk": agent("risk", reads="first", criteria=["gamma is there"]),
        "detour": agent(
            "second",
            reads=["risk"],
            when={"agent": "risk", "says": "Overall risk: HIGH"},
            criteria=["gamma is there"],
        ),
        "last": agent("second", reads=["first", "detour"], criteria=["alpha is there"]),
    },
}


def project_of(folder: Path, value: dict[str, Any], name: str = "agents.yaml") -> Project:
    (folder / "mine.py").write_text(MINE)
    (folder / name).write_text(yaml.safe_dump(value, sort_keys=False))
    return Project(folder)


def played(project: Project, *options: str, run_id: str = "it") -> tuple[Any, Any]:
    """What a run printed, and its report."""
    command = ["run", "agents.yaml", *options, "--executor", "in-process", "--run-id", run_id]
    done = project.matrix(*command)
    path = project.folder / "reports" / "criteria" / f"{run_id}.json"
    return done, json.loads(path.read_text()) if path.exists() else None


@pytest.fixture(scope="module")
def all_inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Any, Any]:
    project = project_of(tmp_path_factory.mktemp("criteria"), FILE)
    return project, *played(project)


def column(report: Any, name: str) -> dict[str, Any]:
    (session,) = [one for one in report["sessions"] if one["input"] == name]
    return {cell["agent"]: cell for cell in session["agents"]}


def verdicts(report: Any, name: str) -> dict[str, str]:
    return {
        agent: cell["verdict"] for agent, cell in column(report, name).items() if cell["judged"]
    }


@pytest.mark.slow
def test_failures_make_the_exit_code(all_inputs: tuple[Project, Any, Any]) -> None:
    _, done, _ = all_inputs
    assert done.code == 3, done


WORDS = {
    "plain": {"first": "PASS", "risk": "PASS", "detour": "skipped", "last": "PASS"},
    "weak": {"first": "PASS", "risk": "PASS", "detour": "skipped", "last": "FAIL"},
    "broken": {"first": "FAIL", "risk": "PASS", "detour": "skipped", "last": "FAIL"},
    "risky": {"first": "PASS", "risk": "PASS", "detour": "PASS", "last": "PASS"},
    "mute": dict.fromkeys(("first", "risk", "last"), "ERROR") | {"detour": "skipped"},
    "wordy": dict.fromkeys(("first", "risk", "last"), "ERROR") | {"detour": "skipped"},
    "again": {"first": "PASS", "risk": "PASS", "detour": "skipped", "last": "PASS"},
    "liar": {"first": "FAIL", "risk": "PASS", "detour": "skipped", "last": "FAIL"},
    "both": dict.fromkeys(("first", "risk", "last"), "ERROR") | {"detour": "skipped"},
    "dead": {"first": "FAIL", "risk": "blocked", "detour": "blocked", "last": "blocked"},
}


@pytest.mark.parametrize("name", WORDS)
def test_every_cell_is_what_the_findings_make_it(
    all_inputs: tuple[Project, Any, Any], name: str
) -> None:
    assert verdicts(all_inputs[2], name) == WORDS[name]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mute", "no criterion is judged"),
        ("wordy", "no criterion is judged"),
        ("short", "nothing is said of criteria 2"),
        ("both", "it gives two verdicts"),
        ("torn", "criterion 1 is both MET and NOT MET"),
    ],
)
def test_a_judge_that_cannot_be_read_is_an_error_with_its_reason(
    all_inputs: tuple[Project, Any, Any], name: str, why: str
) -> None:
    cell = column(all_inputs[2], name)["first"]
    assert cell["verdict"] == "ERROR"
    assert why in cell["why"]


def test_a_claimed_verdict_is_kept_and_told_and_not_believed(
    all_inputs: tuple[Project, Any, Any],
) -> None:
    _, done, report = all_inputs
    cells = column(report, "liar")
    assert (cells["first"]["verdict"], cells["first"]["claimed"]) == ("FAIL", "PASS")
    assert (cells["risk"]["verdict"], cells["risk"]["claimed"]) == ("PASS", "FAIL")
    assert all(cells[name]["judge_disagrees"] for name in ("first", "risk", "last"))
    assert "the judge claimed PASS for first on liar; its own findings make it FAIL" in done.out
    # one criterion lost of two that may be: the judge says FAIL of what its findings let pass
    assert column(report, "weak")["first"]["judge_disagrees"]


def test_an_agent_reads_what_those_before_it_made(all_inputs: tuple[Project, Any, Any]) -> None:
    cells = column(all_inputs[2], "risky")
    assert cells["first"]["output"] == "first of danger ahead"
    assert cells["detour"]["output"].endswith("## From risk\n\nOverall risk: HIGH")
    assert "## Input\n\ndanger ahead" in cells["last"]["output"]
    assert "## From first\n\nfirst of danger ahead" in cells["last"]["output"]
    assert "## From detour" in cells["last"]["output"]
    assert "## From detour" not in column(all_inputs[2], "plain")["last"]["output"]


def test_where_a_failure_began_is_told(all_inputs: tuple[Project, Any, Any]) -> None:
    _, done, report = all_inputs
    assert [one["began_with"] for one in report["sessions"] if one["input"] == "broken"] == [
        ["first"]
    ]
    assert "failures on broken began with first; after it: last" in done.out


def test_the_grid_has_every_agent_and_input_and_every_category(
    all_inputs: tuple[Project, Any, Any],
) -> None:
    _, done, report = all_inputs
    (grid,) = report["grid"].values()
    assert list(grid) == ["first", "risk", "detour", "last"]
    assert all(list(row) == list(INPUTS) for row in grid.values())
    assert grid["first"]["broken"] == "FAIL 2/2"
    assert set(report["by_category"]) == {"odd", "even"}
    counted = report["summary"]
    words = [word for name in INPUTS for word in verdicts(report, name).values()]
    counts = {"errors": words.count("ERROR"), "blocked": words.count("blocked")}
    assert {name: counted[name] for name in counts} == counts
    judged = counted["passed"] + counted["failed"]
    assert counted["cells"] == judged + sum(counts.values())
    assert f"\n{counted['passed']} of {judged} judged passed" in done.out
    assert f"; of {counted['cells']}, {counts['errors']} could not be judged and" in done.out
    categories = report["by_category"].values()
    assert sum(one["judged"] for one in categories) == judged
    assert sum(one["passed"] for one in categories) == counted["passed"]
    assert "95 % interval" in done.out


@pytest.mark.slow
def test_the_report_is_in_json_too_and_in_the_tables(all_inputs: tuple[Project, Any, Any]) -> None:
    project, _, report = all_inputs
    shown = project.matrix("show", "it", "--json")
    assert shown.code == 0, shown
    frame = project.tables("it").frame("scores")
    first = frame[(frame.name == "first") & frame.turn.isna()]
    words = {
        one["input"]: verdicts(report, one["input"]).get("first") for one in report["sessions"]
    }
    assert sorted(first.label) == sorted(filter(None, words.values()))
    assert first[first.label == "ERROR"].value.isna().all()
    assert set(first[first.label == "FAIL"].value) == {0.0}


@pytest.mark.slow
def test_some_agents_and_inputs_only(tmp_path: Path) -> None:
    project = project_of(tmp_path, FILE)
    done, report = played(project, "--agents", "la", "--inputs", "pl,risky")
    assert done.code == 0, done
    assert [one["input"] for one in report["sessions"]] == ["plain", "risky"]
    # what it reads has to run, and is not judged
    assert {one["verdict"] for one in column(report, "plain").values()} == {
        "PASS",
        "not judged",
        "skipped",
    }
    assert report["summary"]["cells"] == 2


@pytest.mark.slow
def test_an_agent_without_criteria_that_others_read_is_shown_as_not_judged(tmp_path: Path) -> None:
    value = FILE | {"agents": dict(FILE["agents"]) | {"first": agent("first", criteria=[])}}
    project = project_of(tmp_path, value)
    for rounds in ("1", "2"):
        options = ("--inputs", "plain,risky", "--per-cell", rounds)
        done, report = played(project, *options, run_id=f"it{rounds}")
        (grid,) = report["grid"].values()
        assert list(grid) == ["first", "risk", "detour", "last"]
        assert grid["first"] == {"plain": "not judged", "risky": "not judged"}
        assert report["summary"]["cells"] == 5 * int(rounds)
        assert "first   not judged  not judged" in done.out


@pytest.mark.slow
def test_a_fixture_stands_for_an_agent_that_is_not_tested(tmp_path: Path) -> None:
    value = FILE | {"agents": dict(FILE["agents"])}
    value["agents"]["first"] = {**FILE["agents"]["first"], "fixture": "made/{input}.md"}
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "plain.md").write_text("from a file, it lacks alpha")
    project = project_of(tmp_path, value)
    done, report = played(project, "--agents", "last", "--inputs", "plain")
    assert done.code == 3, done
    assert column(report, "plain")["first"]["source"] == "fixture"
    assert "## From first\n\nfrom a file" in column(report, "plain")["last"]["output"]
    done, _ = played(project, "--agents", "last", "--inputs", "weak", run_id="other")
    assert done.code == 2
    assert "made/weak.md: no such file: " in done.err


@pytest.mark.slow
def test_recorded_outputs_are_judged_again_without_calling_an_agent(tmp_path: Path) -> None:
    project = project_of(tmp_path, FILE)
    some = ("--inputs", "plain,weak,risky")
    done, before = played(project, *some, "--record", run_id="before")
    assert "outputs are recorded in agents.recorded.json" in done.out
    broken = MINE.replace("async def first(turn):", "async def first(turn):\n    raise SystemError")
    (tmp_path / "mine.py").write_text(broken.replace("async def second(turn):", "def second():"))
    done, after = played(project, *some, "--use-recorded", run_id="after")
    assert [verdicts(after, name) for name in ("plain", "weak", "risky")] == [
        verdicts(before, name) for name in ("plain", "weak", "risky")
    ]
    calls = project.tables("after").frame("calls")
    assert set(calls.role) == {"judge"}
    assert after["changed_since_recorded"] == []
    # another rubric, and a prompt that has changed since, are pointed out
    value = FILE | {"agents": dict(FILE["agents"])}
    value["agents"]["first"] = {**FILE["agents"]["first"], "fail_threshold": 1, "prompt": "Anew."}
    (tmp_path / "agents.yaml").write_text(yaml.safe_dump(value, sort_keys=False))
    done, other = played(project, *some, "--use-recorded", run_id="other")
    assert verdicts(other, "weak")["first"] == "FAIL"
    assert "note: the criteria of first (or the judge's instructions" in done.out
    assert "note: the output of first on plain was recorded for another prompt" in done.out
    done, _ = played(project, "--use-recorded", run_id="more")
    assert done.code == 2
    assert "nothing is recorded of detour, first, last, risk with broken; --record" in done.err


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"agents": {"a": {"criteria": ["x"]}}}, "agents.a: nothing says what it is; give prompt"),
    ({"agents": {"a": {"prompt": "p", "criteria": ["x", "x"]}}}, "agents.a.criteria: has a crit"),
    ({"agents": {"a": {"prompt": "p", "criteria": ["x"], "fail_threshold": 2}}}, "never fail"),
    ({"agents": {"a": {"prompt": "p", "criteria": ["x", " "]}}}, "criterion without a word"),
    ({"agents": {"a": {"prompt": "p", "criteria": ["x"], "reads": "b"}}}, "reads: found 'b'"),
    ({"agents": {"a": {"prompt": "p", "criteria": ["x"], "reads": "a"}}}, "'a': an agent cannot"),
    (
        {"agents": {"a": {"prompt": "p", "criteria": ["x"], "reads": "b"},
                    "b": {"prompt": "p", "reads": "a"}}},
        "they wait for each other: ",
    ),
    ({"agents": {"a": {"prompt": "file://no.md", "criteria": ["x"]}}}, "no.md: no such file"),
    ({"agents": FILE["agents"] | {"a": {"prompt": "p"}}}, "agents.a.criteria: has no criterion"),
    ({"agents": {"a": {"prompt": "p", "criteria": []}}}, "agents.a.criteria: has no criterion"),
    ({"agents": {"score": {"prompt": "p", "criteria": ["x"]}}}, "agents.score: is the name of a"),
    ({"agents": {"a b": {"prompt": "p", "criteria": ["x"]}}}, "agents.a b"),
    ({"inputs": []}, "inputs: has no input"),
    ({"inputs": "file://gone.json"}, "no such file: "),
    ({"variants": {"new": {"frist": "x"}}}, "did you mean 'first'"),
    ({"variants": {"as-written": {"first": "x"}}}, "variants.as-written: is what the agents say"),
    ({"options": {"variant": "new"}}, "found 'new'; there are: as-written"),
    ({"variants": {"new": {"first": "file://no.md"}}}, "no.md: no such file"),
    ({"judge": {"model": "sim/gpt-4o-mini", "temprature": 1}}, "temprature"),
    ({"strange": 1}, "strange"),
    ({"limts": {"cost_usd": 1}}, "limts: unknown key; allowed: version, inputs, agents"),
    ({"limts": {"cost_usd": 1}}, "did you mean 'limits'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), MISTAKES)
def test_a_mistake_is_told_before_anything_starts(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    project = project_of(tmp_path, FILE | change)
    done = project.matrix("run", "agents.yaml", "--executor", "in-process")
    assert done.code == 2, done
    assert told in done.err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--agents", "x"), "--agents: found 'x'; there are: first, risk, detour, last"),
        (("--agents", "frist"), "did you mean 'first'?"),
        (("--inputs", "b"), "--inputs: found 'b', which may be broken, both; say which"),
        (("--inputs", ","), "--inputs: names none"),
        (("--record", "--use-recorded"), "--use-recorded: is given with --record"),
        (("--use-recorded",), "agents.recorded.json cannot be read: No such file"),
        (("--scenarios", "2"), "--scenarios: is an option of a selftest or trajectory file"),
    ],
)
def test_an_option_that_means_nothing_is_told(
    options: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    project = project_of(tmp_path, FILE)
    done = project.matrix("plan", "agents.yaml", *options)
    assert done.code == 2, done
    assert told in done.err


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"outputs": 3}', "\x00"])
def test_a_recording_that_is_none_is_told(text: str, tmp_path: Path) -> None:
    project = project_of(tmp_path, FILE)
    (tmp_path / "agents.recorded.json").write_text(text)
    done = project.matrix("plan", "agents.yaml", "--use-recorded")
    assert done.code == 2, done
    assert "agents.recorded.json is no file of recorded outputs" in done.err


def test_a_folder_with_such_a_file_stands_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "criteria"
    folder.mkdir()
    project_of(folder, FILE)
    done = Project(tmp_path).matrix("plan", "criteria", "--inputs", "plain", "--json")
    assert done.code == 0, done
    assert json.loads(done.out)["sessions"] == 1


@pytest.mark.slow
def test_agents_that_a_limit_cuts_off_are_no_passes(tmp_path: Path) -> None:
    project = project_of(tmp_path, FILE)
    done, report = played(project, "--inputs", "plain", "--max-turns", "2")
    assert verdicts(report, "plain") == {
        "first": "PASS",
        "risk": "PASS",
        "detour": "ERROR",
        "last": "ERROR",
    }
    assert done.code == 1, "nothing was scored"
    assert "ERROR last on plain: the session ended before its turn" in done.out


@pytest.mark.slow
def test_repeats_and_agents_of_one_input_are_no_further_inputs(tmp_path: Path) -> None:
    project = project_of(tmp_path, FILE)
    done, report = played(project, "--inputs", "plain,weak", "--per-cell", "3")
    cells = report["summary"]["cells"]
    assert f"of {cells} judged passed" in done.out
    assert "(95 % interval, from 2 inputs)" in done.out


@pytest.mark.slow
def test_a_judgement_that_is_lost_makes_no_share_of_the_others(tmp_path: Path) -> None:
    """Of three agents one is not judged, and of the other two one passes."""
    text = "judge mute on gamma, it lacks alpha"
    project = project_of(tmp_path, FILE | {"inputs": [{"id": "half", "text": text}]})
    done, report = played(project)
    requested = {"first": "PASS", "risk": "ERROR", "detour": "skipped", "last": "FAIL"}
    assert verdicts(report, "half") == requested
    scores = project.tables("it").frame("scores").set_index("name").value
    assert scores[["score", "criteria_met", "risk"]].isna().all()
    assert scores[["first", "last"]].to_list() == [1.0, 0.0]
    assert done.code == 3, "one was judged and fails, whatever else could not be judged"
    assert "\n1 of 2 judged passed (50%); as a sample of such inputs" in done.out
    assert "; of 3, 1 could not be judged, which says nothing\n" in done.out


@pytest.mark.slow
def test_in_several_rounds_what_is_not_judged_is_no_failure(tmp_path: Path) -> None:
    _, report = played(project_of(tmp_path, FILE), "--inputs", "dead,mute,weak", "--per-cell", "2")
    (grid,) = report["grid"].values()
    assert grid["first"] == {"weak": "2/2 pass", "mute": "2 ERROR", "dead": "0/2 pass"}
    assert grid["risk"]["dead"] == "2 blocked"


@pytest.mark.slow
def test_an_output_with_nothing_in_it_is_no_answer(tmp_path: Path) -> None:
    value = {**FILE, "inputs": [{"id": "mute", "text": "an idea"}]}
    value["agents"] = {**FILE["agents"], "first": {**FILE["agents"]["first"]}}
    value["agents"]["first"]["run"] = {"python": "mute:first", "free": True}
    project = project_of(tmp_path, value)
    mute = 'async def first(turn):\n    return " \\n\\u200b"\n'
    (tmp_path / "mute.py").write_text(mute)
    done, report = played(project)
    assert done.code == 3, done
    assert verdicts(report, "mute") == {
        "first": "FAIL",
        "risk": "blocked",
        "detour": "blocked",
        "last": "blocked",
    }
    found = column(report, "mute")
    assert found["first"]["why"] == "its output is empty"
    assert found["risk"]["why"] == "first gave no answer"
    assert not found["first"]["ran"]
    assert "FAIL first on mute: its output is empty" in done.out
    calls = project.tables("it").frame("calls")
    assert not len(calls[calls.role == "judge"])


def test_nor_is_one_that_a_fixture_gives(tmp_path: Path) -> None:
    value = {**FILE, "inputs": [{"id": "plain", "text": "an idea"}]}
    first = {**FILE["agents"]["first"], "fixture": "made/{input}.md"}
    value["agents"] = {**FILE["agents"], "first": first}
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "plain.md").write_text("\n")
    done, report = played(project_of(tmp_path, value), "--agents", "last")
    assert done.code in (2, 3), done
    assert report is None or column(report, "plain")["last"]["verdict"] == "blocked"


@pytest.mark.slow
def test_quotations_of_nothing_and_the_judges_standing_are_told(tmp_path: Path) -> None:
    value = {**FILE, "inputs": [{"id": "a", "text": "an idea"}, {"id": "b", "text": "an idea"}]}
    value["agents"] = {"first": FILE["agents"]["first"]}
    value["judge"] = {"run": {"python": "quoter:judge", "free": True}}
    project = project_of(tmp_path, value)
    lines = "1. x: MET - it says 'First of an  IDEA'\n2. y: MET - it says 'never said by anyone'"
    told = f"## Criteria Evaluation\n{lines}\n\n## Verdict\n**PASS**\n\n## Reasoning\nso"
    (tmp_path / "quoter.py").write_text(f"async def judge(turn):\n    return {told!r}\n")
    done, report = played(project)
    assert done.code == 0, done
    assert report["judge"]["standing"]["word"] == "unchecked"
    assert report["judge"]["faults"]["quotes_nothing"] == {"first": 2}
    line = "first: 2 reasons quote words that are nowhere in what was judged"
    assert line in " ".join(done.out.split())
    events = project.tables("it").frame("events")
    details = set(events[events.kind == "quotes_nothing"].detail)
    (detail,) = details
    assert "'never said by anyone'" in detail
    assert "IDEA" not in detail
