"""What ships: seven scenarios with the simulated agent, and the mistakes that can be planted in it.

The agent does what the instructions in its folder say, so a mistake is planted by taking a sentence
out of them. Each has to fail an assertion that is about it, and no other but those that follow from
it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mistakes import MISTAKES, failures_of
from matrix.kinds.library import shipped_root
from matrix.kinds.trajectory.assertions.structural import BUILT_IN
from matrix.kinds.trajectory.scenario import ScenarioPlaces, read_scenario, scenarios_in
from matrix.store.upkeep.sweeping import FOLDERS
from tests.executors.programs import Project
from tests.kinds.trajectory.folders import played

SHIPPED = shipped_root() / "scenarios" / "trajectory"
OF_THE_DESIGN = (
    "file_exists", "file_exists_glob", "file_modified", "file_modified_glob",
    "file_modified_or_created", "hypothesis_count_at_least",
    "hypothesis_evidence_count_increased_for", "hypothesis_evidence_count_unchanged_for",
    "all_internal_links_valid", "all_decisions_have_reversal_condition", "no_orphan_evidence",
    "no_silent_hypothesis_demotion",
)  # fmt: skip
"""The assertions of the document that scenario folders are written for."""


@pytest.fixture(scope="module")
def all_seven(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return played(Project(tmp_path_factory.mktemp("shipped")), "trajectory")


@pytest.mark.slow
def test_the_simulated_agent_passes_all_seven(all_seven: tuple[Any, Any]) -> None:
    done, report = all_seven
    assert done.code == 0, done.out + done.err
    assert len({one["scenario"] for one in report["runs"]}) == 7
    assert all(one["reached"] for one in report["assertions"])


def test_every_scenario_has_six_to_ten_turns_and_a_reason_for_its_thresholds() -> None:
    packs = [read_scenario(one, one.name, ScenarioPlaces()) for one in scenarios_in(SHIPPED)]
    assert len(packs) == 7
    for pack in packs:
        assert 6 <= pack.fields["turns"] <= 10
        readme = (SHIPPED / pack.name / "README.md").read_text()
        assert "**Moves:**" in readme
        assert "**Thresholds:**" in readme
        assert [note for note in pack.notes if "nothing is expected" not in note] == []


def test_every_assertion_of_the_design_is_used_by_a_shipped_scenario(
    all_seven: tuple[Any, Any],
) -> None:
    used = {one["name"] for run in all_seven[1]["runs"] for one in run["results"]}
    # the glob form of file_modified is used; by itself it is one pattern of it
    assert used >= set(OF_THE_DESIGN) - {"file_modified"}
    assert set(BUILT_IN) >= set(OF_THE_DESIGN)


def test_turns_write_real_files(all_seven: tuple[Any, Any]) -> None:
    (run,) = [one for one in all_seven[1]["runs"] if one["scenario"].startswith("05")]
    assert run["pin"]["hypotheses"] == {
        "H-U1": {"status": "archived", "for": 2, "against": 3},
        "H-V1": {"status": "proposed", "for": 2, "against": 0},
    }
    assert run["pin"]["orphans"] == 0


@pytest.mark.long
@pytest.mark.slow
def test_fifty_sessions_at_once_leave_no_folder_behind(tmp_path: Path) -> None:
    done, report = played(
        Project(tmp_path),
        *("trajectory", "--per-cell", "50", "--set", "scenarios=[03-a-persona-emerges]"),
    )
    assert done.code == 0, done.out + done.err
    assert len(report["runs"]) == 50
    assert not list((tmp_path / "results" / "it").glob(f"{FOLDERS}/*"))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_fails_what_it_is_about(mistake: str, tmp_path: Path) -> None:
    found = failures_of(mistake, tmp_path)
    expected, follow = MISTAKES[mistake].fails, MISTAKES[mistake].follow
    assert expected <= found, f"{mistake} is not noticed by {expected - found}"
    assert found <= expected | follow, f"{mistake} also fails {found - expected - follow}"


def foreign(root: Path) -> Mapping[str, str]:
    """A scenario that shares no file name, heading or word with the simulated agent's notebook."""
    shutil.copytree(Path(__file__).parent / "foreign", root, dirs_exist_ok=True)
    return {}


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "code"), [("careful", 0), ("careless", 3)])
def test_another_agent_with_other_words_is_judged_rightly(
    tmp_path: Path, variant: str, code: int
) -> None:
    foreign(tmp_path)
    path = tmp_path / "trajectory.yaml"
    path.write_text(path.read_text().replace("AGENT", variant))
    done, report = played(Project(tmp_path), "scenarios/01-ferry")
    assert done.code == code, done.out + done.err
    lost = sorted(
        one["id"] for run in report["runs"] for one in run["results"] if one["word"] != "PASS"
    )
    assert lost == ([] if code == 0 else json.loads((tmp_path / "lost.json").read_text()))


@pytest.mark.slow
def test_options_are_taken_by_the_suite_that_ships(tmp_path: Path) -> None:
    project = Project(tmp_path)
    options = ("--runs", "2", "--scenarios", "01,05", "--skip-content", "--stop-after-turn", "1")
    done, report = played(project, "trajectory", *options)
    assert done.code in (0, 3), done
    assert sorted((one["scenario"], one["run"]) for one in report["runs"]) == [
        ("01-from-hunch-to-decision", 1),
        ("01-from-hunch-to-decision", 2),
        ("05-the-sweep", 1),
        ("05-the-sweep", 2),
    ]
    assert {one["turns"] for one in report["runs"]} == {1}
    assert {one["layer"] for one in report["assertions"]} == {"structural"}
    assert report["judge"]["standing"] is None
    assert set(project.tables("it").frame("calls").role) == {"agent"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--runs", "0"), "--runs: found '0'"),
        (("--scenarios", "0"), "which may be"),
        (("--scenarios", "nix"), "which is none"),
        (("--claude-bin", "/bin/true"), "is of the agent `claude` of an adapter"),
        (("--strict-nothing",), "--strict-nothing"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    tmp_path: Path, options: tuple[str, ...], told: str
) -> None:
    done = Project(tmp_path).matrix("run", "trajectory", *options, "--executor", "in-process")
    assert done.code == 2, done
    assert told in done.err


@pytest.mark.slow
def test_the_shipped_folder_is_played_from_anywhere(tmp_path: Path) -> None:
    done, report = played(
        Project(tmp_path), str(SHIPPED), "--scenarios", "01", "--stop-after-turn", "1"
    )
    assert done.code in (0, 3), done
    assert [one["scenario"] for one in report["runs"]] == ["01-from-hunch-to-decision"]
    layers = {one["layer"] for one in report["assertions"]}
    assert "structural" in layers
    if "content" in layers:
        assert report["judge"]["standing"]["word"] == "unchecked"


@pytest.mark.slow
def test_a_transcript_has_what_judges_said_of_a_week_in_that_week(tmp_path: Path) -> None:
    project = Project(tmp_path)
    played(project, "trajectory", "--scenarios", "02")
    shown = project.matrix("show", "it", "worst").out
    fourth = shown[shown.index("--- turn 4 ") : shown.index("--- turn 5 ")]
    assert "* assertion t04.contradiction_kept: PASS" in fourth
    events = project.tables("it").frame("events")
    judged = events[events.subject == "t04.contradiction_kept"]
    assert list(judged.turn) == [4]
