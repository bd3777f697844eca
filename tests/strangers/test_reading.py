"""What a stranger's spec has read into prompts: what is of the project, and no more unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executors.programs import Done, Project, counter_spec, play_spec

RUBRIC = "---\nanswer: verdict\n---\nDoes it count?\n"
SECRET = "-----BEGIN PRIVATE KEY----- qq7"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """In a folder of its own, with a secret beside it and hidden ones inside."""
    (tmp_path / "there" / ".ssh").mkdir(parents=True)
    for path in ("secret", "there/.env", "there/.ssh/id"):
        (tmp_path / path).write_text(SECRET)
    return Project(tmp_path / "there")


COMMANDS = [("validate",), ("plan",), ("run", "--executor", "in-process", "--run-id", "it")]


def refused(project: Project, told: str) -> None:
    for command in COMMANDS:
        done: Done = project.matrix(*command)
        assert done.code == 2, done
        assert told in done.err, done
        assert "--allow-outside" in done.err
        assert "qq7" not in done.err, "a file that is no pack is not quoted"
    assert not (project.folder / "results").exists()


FILES = [
    ("file://../secret", "leads out of the project, to "),
    ("file://{top}/secret", "leads out of the project, to "),
    ("file://linked.md", "leads out of the project, to "),
    ("file://.env", "which is hidden, as files with keys are"),
    ("file://.ssh/id", "which is hidden, as files with keys are"),
    ("file://a/../.env", "which is hidden, as files with keys are"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("reference", "told"), FILES)
def test_neither_a_rubric_nor_a_prompt_is_read_from_elsewhere(
    project: Project, reference: str, told: str
) -> None:
    top = project.folder.parent
    (project.folder / "linked.md").symlink_to(top / "secret")
    reference = reference.format(top=top)
    project.write(counter_spec(judges=[{"rubric": reference, "model": "sim/haiku"}]))
    refused(project, told)
    project.write(play_spec(factors={}, options={"prompt": reference}))
    refused(project, told)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["one/scenario.yaml", "one/more/guide.md", "one"])
def test_a_pack_has_no_links_to_elsewhere(project: Project, part: str) -> None:
    pack = project.folder / "scenarios" / "counter" / "one"
    target = project.folder.parent / "pack"
    (target / "more").mkdir(parents=True)
    (target / "scenario.yaml").write_text("kind: counter\ntitle: One\n")
    link = project.folder / "scenarios" / "counter" / part
    if part != "one":
        pack.mkdir(parents=True)
        (pack / "scenario.yaml").write_text("kind: counter\ntitle: One\n")
        link.unlink(missing_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target / ("scenario.yaml" if part != "one" else ""))
    project.write(counter_spec())
    refused(project, "leads out of the project, to ")
    assert project.matrix("validate", "--allow-outside").code == 0


@pytest.mark.parametrize("place", ["here", "checkout", "inside"])
def test_what_is_of_the_checkout_and_where_one_stands_is_read(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "top" / "jobs"
    folder.mkdir(parents=True)
    (tmp_path / "top" / "ends.md").write_text(RUBRIC)
    (folder / "ends.md").write_text(RUBRIC)
    if place == "checkout":
        (tmp_path / "top" / ".git").mkdir()
    reference = "file://ends.md" if place == "inside" else "file://../ends.md"
    project = Project(folder)
    project.write(counter_spec(judges=[{"rubric": reference, "model": "sim/haiku"}]))
    stands = Project(tmp_path / "top") if place == "here" else project
    done = stands.matrix("validate", *["jobs"] * (place == "here"))
    assert done.code == 0, done


@pytest.mark.slow
def test_it_is_read_where_its_user_says_so(project: Project, tmp_path: Path) -> None:
    (tmp_path / "ends.md").write_text(RUBRIC)
    project.write(counter_spec(judges=[{"rubric": "file://../ends.md", "model": "sim/haiku"}]))
    assert project.matrix("plan", "--allow-outside").code == 0
    said = Project(project.folder, environment={"MATRIX_ALLOW_OUTSIDE": "true"})
    assert said.matrix("doctor").code == 0
    assert (
        project.matrix("run", "--allow-outside", "--executor", "in-process", "--run-id", "it").code
        == 0
    )
    again = ("rejudge", "it", "--rubric", "../ends.md", "--executor", "in-process")
    assert project.matrix(*again).code == 0, "one's own run, and one's own words"
