"""Reading scenario folders that others wrote: what is a mistake, what a note, and what plays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.context import ChangedFiles
from matrix.kinds.trajectory.assertions.folder import View, differences, scan, told_changes
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.paths import matching, never_matches
from matrix.kinds.trajectory.assertions.structural import BUILT_IN, AssertionContext
from matrix.kinds.trajectory.file import is_adapter
from matrix.kinds.trajectory.scenario import ScenarioPlaces, read_scenario
from matrix.kinds.trajectory.settings import TrajectoryScenario
from matrix.model.errors import BadInput
from tests.executors.programs import Project
from tests.kinds.trajectory.folders import ANYTHING, project, scenario

INPUTS = {"turn-01-interview-a.md": "one", "turn-02-mail.md": "two"}
RUBRIC = "Is it so?"


def read(folder: Path) -> tuple[TrajectoryScenario, tuple[str, ...]]:
    pack = read_scenario(folder, folder.name, ScenarioPlaces())
    return TrajectoryScenario.model_validate(pack.content["scenario"]), pack.notes


def judged(**more: Any) -> dict[str, Any]:
    (one,) = [{"judge": "j", "rubric": "judges/r.md", "expected_meaning": "x", **more}]
    return {"turns": [{"turn": 1, "content": [one]}]}


@pytest.mark.parametrize("pad", ["", "0"])
def test_turns_are_in_the_order_of_their_numbers_padded_or_not(tmp_path: Path, pad: str) -> None:
    names = [f"turn-{pad if n < 10 else ''}{n}-mail.md" for n in range(1, 13)]
    folder = scenario(tmp_path, "01-long", dict.fromkeys(names, "text"), {})
    found, _ = read(folder)
    assert [turn.name for turn in found.turns] == names


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"turns": [{"turn": 1, "input": "turn-01-interveiw-a.md"}]}, "did you mean 'turn-01-"),
        ({"turns": [{"turn": 7}]}, "turn 7 has no input in inputs/, and no command"),
        ({"turns": [{"turn": 1}, {"turn": 1}]}, "is expected of twice"),
        (
            {"turns": [{"turn": 1}, {"turn": 2}, {"turn": 2, "command": "/review"}]},
            "turns[2].turn: turn 2 is given twice: turns[1] has it already",
        ),
        (
            {"turns": [{"turn": 1}, {"turn": 2, "command": "/review"}]},
            "turn 2 is given twice: inputs/turn-02-mail.md has it by its name",
        ),
        ({"turns": [{"turn": "one"}]}, "found 'one'; a turn's number is a whole number from 1 on"),
        ({"turns": [{"turn": 0, "command": "/x"}]}, "found 0; a turn's number"),
        ({"turns": "none"}, "is a list of turns"),
        ({"turns": [3]}, "a turn is a mapping"),
        ({"turns": [{"turn": 1, "structurall": []}]}, "did you mean 'structural'?"),
        (
            {"turns": [{"turn": 1, "structural": [{"file_exsts": "a"}]}]},
            "did you mean 'file_exists'",
        ),
        ({"turns": [{"turn": 1, "structural": [{"file_exists": "/a"}]}]}, "can never match"),
        ({"turns": [{"turn": 1, "structural": "file_exists"}]}, "is a list of assertions"),
        ({"turns": [{"turn": 1, "structural": [[]]}]}, "an assertion is a name"),
        ({"turns": [{"turn": 1, "command": 3, "input": None}]}, "it is a text: /review"),
        (judged(rubric="judges/q.md"), "which is no file in the scenario and above it"),
        (judged(rubric="judges/empty.md"), "is empty"),
        (judged(rubric=None), "names no file"),
        (judged(target_glob="a/*.md", target_file="b.md"), "give one of the two"),
        (judged(target_glob="../*.md"), "leads out"),
        (judged(taget_glob="a/*.md"), "did you mean 'target_glob'?"),
        (judged(target="a.md"), "content[0].target: is no key; say target_glob, or target_file"),
        ({"pass_threshold": {"content": 1.2}}, "found 1.2; a share of runs is from 0 to 1"),
        ({"pass_threshold": {"contents": 0.8}}, "did you mean 'content'?"),
        ({"pass_threshold": {"struct": 0.8}}, "did you mean 'structural'?"),
        ({"turns": [{"turn": 1, "struct": ["all_internal_links_valid"]}]}, "mean 'structural'?"),
        ({"final": {"structural": ["all_internal_links_valid"]}}, "did you mean 'final_state'?"),
        ({"pass_threshold": 0.8}, "found no mapping"),
        ({"final_sate": {}}, "did you mean 'final_state'?"),
        ({"final_state": []}, "is a mapping with structural"),
        ("- a\n- b\n", "has no keys"),
        ("turns: [\n", "not YAML"),
        ("turns: []\nturns: []\n", "is given twice"),
    ],
)
def test_mistakes_that_would_change_a_verdict(tmp_path: Path, expected: Any, told: str) -> None:
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "r.md").write_text(RUBRIC)
    (tmp_path / "judges" / "empty.md").write_text("---\na: b\n---\n\n")
    folder = scenario(tmp_path, "01", INPUTS, expected)
    with pytest.raises(BadInput) as caught:
        read(folder)
    assert told in str(caught.value)


def test_all_mistakes_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = (
        "turns:\n"
        "  - turn: 1\n"
        "    structural:\n"
        "      - file_exsts: a.md\n"
        "      - hypothesis_count_at_least: many\n"
        "  - turn: 9\n"
    )
    with pytest.raises(BadInput) as caught:
        read(scenario(tmp_path, "01", INPUTS, text))
    assert [(one.line, one.source) for one in caught.value.mistakes] == [
        (4, "01/expected.yaml"),
        (5, "01/expected.yaml"),
        (6, "01/expected.yaml"),
    ]


@pytest.mark.parametrize("name", ["turn-01-x.md", "turn-02-y.md"])
def test_empty_and_binary_inputs_are_mistakes(tmp_path: Path, name: str) -> None:
    folder = scenario(tmp_path, "01", {"turn-01-x.md": "\n\n", "turn-02-y.md": "a\0b"}, {})
    with pytest.raises(BadInput) as caught:
        read(folder)
    assert any(name in str(one) for one in caught.value.mistakes)


def test_what_strangers_write_is_played_with_a_note(tmp_path: Path) -> None:
    expected = {
        "scenario": "A churn story",
        "author": "somebody",
        "final": "the end of the story",
        "pass_threshold": {"overall": 0.9},
        "turns": [
            {"turn": 1, "notes": "first", "structural": ["no_orphan_evidence"]},
            {"turn": 3, "structural": {"file_exists": "a.md", "no_orphan_evidence": False}},
            {"turn": 4, "command": "review"},
        ],
        "final_state": {"structural": [{"file_modified": "a.md"}]},
    }
    inputs = {
        "turn-01-interview-acme-ops.md": "\ufeffone\r\n",
        "turn-02-email.md": "two",
        "turn-03-2026-03-02-notes.txt": "three",
        "README.md": "about the inputs",
        "notes.md": "likewise",
        ".hidden": "x",
    }
    found, notes = read(scenario(tmp_path, "01-churn", inputs, expected, readme=""))
    assert [turn.name for turn in found.turns] == [
        "turn-01-interview-acme-ops.md",
        "turn-02-email.md",
        "turn-03-2026-03-02-notes.txt",
        "review",
    ]
    assert found.turns[0].kind == "interview"
    assert found.turns[2].date == "2026-03-02"
    assert [one.name for one in found.turns[2].expected.structural] == ["file_exists"]
    assert found.thresholds.structural == 1.0
    assert found.thresholds.content == 0.8
    for told in (
        "the key 'author' is not known",
        "the key 'final' is not known",
        "the key 'overall' in pass_threshold is not known",
        "the key 'notes' in turns.0 is not known",
        "nothing is expected of inputs/turn-02-email.md",
        "no_orphan_evidence: false is not checked",
        "file_modified in the final state is about what the last turn did",
        "has no README.md",
        "inputs/notes.md is about the inputs and none of them, so it is not played",
        "the command 'review' has no /; it is said as it is",
    ):
        assert any(told in note for note in notes), told


def test_all_mistakes_of_a_turn_are_told_at_once(tmp_path: Path) -> None:
    entry = {"turn": 7, "structural": [{"file_exist": "a.md"}, {"file_exists": "/a"}]}
    expected = {"turns": [entry], "pass_threshold": {"structural": 2}}
    with pytest.raises(BadInput) as error:
        read(scenario(tmp_path, "01", INPUTS, expected))
    told = str(error.value)
    for each in ("turn 7 has no input", "'file_exist'", "can never match", "from 0 to 1"):
        assert each in told, told


def test_a_typing_mistake_beside_the_key_itself_hides_no_assertion(tmp_path: Path) -> None:
    entry = {"turn": 7, "structural": [{"file_exists": "a.md"}], "structual": [{"x": 1}]}
    expected = {"turns": [entry], "final_state": {"structural": []}, "final_sate": {"content": []}}
    with pytest.raises(BadInput) as error:
        read(scenario(tmp_path, "01", INPUTS, expected))
    for each in ("did you mean 'structural'?", "did you mean 'final_state'?"):
        assert each in str(error.value)
    entry = {"turn": 7, "input": "turn-01-mail.md", "inputs": "of an author's own"}
    read(scenario(tmp_path, "02", {"turn-01-mail.md": "x"}, {"turns": [entry]}))


def test_turns_whose_numbers_have_gaps_are_told_by_their_place(tmp_path: Path) -> None:
    expected = {"turns": [{"turn": 10, "structural": ["no_orphan_evidence"]}]}
    expected["turns"].append({"turn": 12, "command": "/review"})
    inputs = {"turn-02-mail.md": "two", "turn-10-mail.md": "ten"}
    found, notes = read(scenario(tmp_path, "01", inputs, expected))
    assert [len(turn.expected.structural) for turn in found.turns] == [0, 1, 0]
    moved = "turn-02-mail.md is turn 1, turn-10-mail.md is turn 2, /review is turn 3"
    assert (
        f"01: turns are told by their place, not by numbers with gaps or given twice: {moved}"
        in notes
    )
    _, notes = read(scenario(tmp_path, "02", INPUTS, {"turns": [{"turn": 3, "command": "/go"}]}))
    assert not any("gaps" in note for note in notes)


def test_a_threshold_that_is_always_reached_is_told(tmp_path: Path) -> None:
    shares = {"structural": 0, "content": 0.8}
    _, notes = read(scenario(tmp_path, "01", INPUTS, {"pass_threshold": shares}))
    assert "01: pass_threshold structural: 0 is reached whatever happens" in notes
    assert not any("content: " in note for note in notes)


@pytest.mark.slow
def test_two_scenarios_of_one_name_are_told(tmp_path: Path) -> None:
    made = project(tmp_path)
    for name in ("01", "02", "03"):
        told = "other" if name == "03" else "A churn story"
        scenario(tmp_path, name, INPUTS, {"scenario": told, **ANYTHING})
    done = made.matrix("validate", "scenarios")
    assert done.code == 0, done
    assert "02: is called 'A churn story', as 01 is; a copy?" in done.out + done.err
    assert "03: is called" not in done.out + done.err


@pytest.mark.parametrize(
    "adapter",
    [
        {"scenarios": "scenarios"},
        {"scenarios": ["scenarios"], "agent": "sim/sonnet", "judge": "sim/sonnet"},
        {"scenarios": ["scenarios"], "turn_timeout_s": 60},
    ],
)
def test_an_adapter_that_is_named_itself_is_read_as_one(
    tmp_path: Path, adapter: dict[str, Any]
) -> None:
    made = project(tmp_path, adapter)
    scenario(tmp_path, "01", INPUTS, ANYTHING)
    done = made.matrix("validate", "trajectory.yaml")
    assert done.code == 0, done


@pytest.mark.slow
def test_a_folder_without_its_expected_file_hides_no_other_mistake(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01", INPUTS, {"turns": {"turn-01": 1}})
    (scenario(tmp_path, "02", INPUTS, {}) / "expected.yaml").unlink()
    done = made.matrix("validate", "scenarios")
    told = done.out + done.err
    assert done.code == 2, done
    assert "has inputs/ and no expected.yaml" in told
    assert "is a list of turns" in told


@pytest.mark.slow
@pytest.mark.parametrize("there", [".", "scenarios", "scenarios/01"])
def test_the_adapter_is_the_same_wherever_one_stands(tmp_path: Path, there: str) -> None:
    made = project(tmp_path, {"scenarios": ["scenarios"], "agent": "sim/haiku"})
    scenario(made.folder, "01", INPUTS, ANYTHING)
    folder = made.folder / "scenarios" / "01"
    named = os.path.relpath(folder, made.folder / there)
    done = Project(made.folder / there).matrix("plan", named)
    assert done.code == 0, done
    assert "agent sim/haiku" in done.out


@pytest.mark.slow
def test_no_adapter_from_above_a_checkout_is_taken(tmp_path: Path) -> None:
    made = project(tmp_path, {"scenarios": ["own/scenarios"], "agent": "sim/haiku"})
    scenario(tmp_path / "own", "01", INPUTS, ANYTHING)
    (tmp_path / "own" / ".git").mkdir()
    done = Project(tmp_path / "own").matrix("plan", "scenarios/01")
    assert done.code == 0, done
    assert "agent sim/sonnet" in done.out
    assert "sim/haiku" in made.matrix("plan", "trajectory.yaml").out


@pytest.mark.parametrize(
    "spec",
    [
        {"scenarios": ["house-too-many"], "judge": "sim/sonnet"},
        {"kind": "counter", "scenarios": "one"},
        {"scenarios": [{"description": "a case"}], "agent": "x"},
    ],
)
def test_what_is_no_adapter_is_not_read_as_one(spec: dict[str, Any]) -> None:
    assert not is_adapter(spec)


def test_rubrics_are_found_where_the_design_has_them(tmp_path: Path) -> None:
    (tmp_path / "harness" / "judges").mkdir(parents=True)
    (tmp_path / "harness" / "judges" / "r.md").write_text(RUBRIC)
    found, _ = read(scenario(tmp_path, "01", INPUTS, judged()))
    assert found.turns[0].expected.content[0].text == RUBRIC
    assert found.turns[0].expected.content[0].context == {"expected_meaning": "x"}


def test_a_rubric_never_comes_from_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("a secret")
    for name in ("/etc/passwd", "../../../../etc/passwd"):
        with pytest.raises(BadInput):
            read(scenario(tmp_path, "01", INPUTS, judged(rubric=name)))


@pytest.mark.parametrize("target", ["/etc/passwd", "/etc"])
def test_a_link_out_of_a_scenario_is_a_mistake(tmp_path: Path, target: str) -> None:
    folder = scenario(tmp_path, "01", INPUTS, {})
    (folder / "inputs" / "turn-03-x.md").symlink_to(target)
    with pytest.raises(BadInput) as caught:
        read(folder)
    assert "turn-03-x.md: is a link to what is not of the scenario" in str(caught.value)
    (folder / "inputs" / "turn-03-x.md").unlink()
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "r.md").symlink_to("/etc/passwd")
    with pytest.raises(BadInput):
        read(scenario(tmp_path, "01", INPUTS, judged()))


NAMES = st.from_regex(r"(?:[a-z]{1,3}/){0,2}[a-z]{1,4}\.md", fullmatch=True)


@pytest.mark.slow
@given(st.dictionaries(NAMES, st.text(max_size=60), max_size=12))
def test_a_turn_that_changes_nothing_modifies_nothing(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("folder")
    for path, text in files.items():
        if not (root / path).exists() and not any((root / p).is_file() for p in Path(path).parents):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            if not (root / path).is_dir():
                (root / path).write_bytes(text.encode("utf-8", "replace"))
    before = scan(root)
    view = View(root, scan(root), before, ChangedFiles())
    assert not any(view.touched(path) for path in view.now)
    assert list(differences(view)) == []
    scene = AssertionContext(view, Layout())
    for name, assertion in BUILT_IN.items():
        if name.startswith("file_modified") and name != "file_modified_or_created":
            assert not assertion.check(scene, "**/*.md OR *.md").holds
        elif name == "hypothesis_evidence_count_increased_for":
            assert not assertion.check(scene, "H1").holds


def test_what_is_only_written_again_is_told(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("it")
    before = {**scan(tmp_path), "a.md": 1}
    view = View(tmp_path, scan(tmp_path), before, ChangedFiles())
    assert view.touched("a.md")
    assert told_changes(view) == "written again with what was in it: a.md"


@given(st.text(alphabet="ab*?[]!/.\\-{}", max_size=12), st.lists(NAMES, max_size=5))
def test_any_pattern_is_answered(pattern: str, paths: list[str]) -> None:
    if not never_matches(pattern):
        assert set(matching(pattern, paths)) <= set(paths)


@given(st.text(max_size=400))
def test_any_text_can_be_read_as_a_note(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("notes")
    for folder in ("hypotheses", "decisions"):
        (root / folder).mkdir()
        (root / folder / "a.md").write_bytes(text.encode("utf-8", "replace"))
    scene = AssertionContext(View(root, scan(root)), Layout())
    for name, assertion in BUILT_IN.items():
        argument: Any = 1 if name == "hypothesis_count_at_least" else "a ; b"
        assert assertion.check(scene, argument).seen


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("/review\nand more\n", True),
        ("---\ndate: 2026-03-02\n---\n/pm:review all\n\nand more\n", True),
        ("/review all\n", False),
        ("/var/notes.md is gone.\nWhere is it?\n", False),
        ("She said:\n/review\n", False),
    ],
)
def test_a_command_of_several_lines_is_noted_before_it_is_played_as_a_text(
    tmp_path: Path, text: str, noted: bool
) -> None:
    found, notes = read(scenario(tmp_path, "01", {"turn-01-a.md": text}, ANYTHING))
    assert any("a command is one line" in one for one in notes) is noted
    assert found.turns[0].command is text.startswith("/review all")


def test_front_matter_of_a_command_is_no_part_of_it(tmp_path: Path) -> None:
    inputs = {
        **INPUTS,
        "turn-03-review.md": "---\ndate: 2026-04-08\n---\n/review\n",
        "turn-04-mail.md": "---\r\ndate: 2026-04-09\r\n---\r\nHello.\r\n",
    }
    found, _ = read(scenario(tmp_path, "01", inputs, {}))
    assert (found.turns[2].text, found.turns[2].command) == ("/review", True)
    assert [turn.date for turn in found.turns[2:]] == ["2026-04-08", "2026-04-09"]
    assert not found.turns[3].command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        ({"artifact": "Work the new item in."}, "has no {input}, so the agent would never"),
        ({"command": "Do it."}, "has no {input}, so the agent would never"),
        ({"artifact": "{inputs} of {input}"}, "{inputs} is no place"),
    ],
)
def test_a_prompt_that_would_keep_what_came_in_from_the_agent_is_a_mistake(
    tmp_path: Path, prompts: dict[str, str], told: str
) -> None:
    made = project(tmp_path, {"scenarios": "scenarios", "prompts": prompts})
    scenario(tmp_path, "01", INPUTS, {})
    done = made.matrix("validate", "trajectory.yaml")
    assert done.code == 2, done
    assert told in done.err


@pytest.mark.slow
def test_braces_of_no_place_are_said_as_they_are(tmp_path: Path) -> None:
    prompts = {"artifact": 'Answer as {"ok": true}. {input}', "folder": "There are new files."}
    made = project(tmp_path, {"scenarios": "scenarios", "prompts": prompts})
    scenario(tmp_path, "01", INPUTS, ANYTHING)
    assert made.matrix("validate", "trajectory.yaml").code == 0
