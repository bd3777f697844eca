"""A judge called like a score that sessions have: two scores would be taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.executors.programs import Project

RUBRIC = "---\nanswer: verdict\n---\nDoes it count?\n"
HEAD = "import matrix\n\n"
KIND = HEAD + (
    '@matrix.scenario(simulated={{"agent": "four"}})\n'
    "async def sums(ctx, mood: str = 'calm'):\n"
    "    said = await ctx.ask('agent', 'Two and two?')\n"
    "    ctx.score({named}, said.text == 'four')\n"
    "    await ctx.ask('agent', 'Are you sure?')\n"
)
OTHER = '\n@matrix.scenario()\nasync def other(ctx):\n    ctx.score("manners", 1)\n'


def project_of(folder: Path, kind: str, judge: str = "", of: str = "sums") -> Project:
    (folder / "sums.py").write_text(kind)
    (folder / "exact.md").write_text(RUBRIC)
    (folder / "manners.md").write_text(RUBRIC)
    spec = {
        "name": "sums",
        "kind": f"./sums.py:{of}",
        "factors": {"mood": ["calm", "angry"]},
        "per_cell": 2,
        "limits": {"cost_usd": 1},
    }
    listed = {"judges": [{"rubric": f"file://{judge}.md", "model": "sim/gpt-4o-mini"}]}
    (folder / "matrix.yaml").write_text(yaml.safe_dump({**spec, **(listed if judge else {})}))
    return Project(folder)


def test_a_judge_called_like_a_score_in_the_code_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    project = project_of(tmp_path, KIND.format(named='"exact"'), "exact")
    for command in ("validate", "plan", "run"):
        done = project.matrix(command)
        assert done.code == 2, done
        told = "judges[0]: the scores of 'exact' would have a name that is taken"
        assert told in done.err
    assert not (tmp_path / "results").exists()


def test_a_score_of_another_scenario_of_the_file_takes_no_name(tmp_path: Path) -> None:
    project = project_of(tmp_path, KIND.format(named='"exact"') + OTHER, "manners")
    done = project.matrix("validate")
    assert done.code == 0, done


def test_a_judge_called_like_a_score_that_is_named_while_it_runs_is_a_defect(
    tmp_path: Path,
) -> None:
    project = project_of(tmp_path, KIND.format(named='"ex" + "act"'), "exact")
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code != 0, done
    told = "ValueError: the kind's score 'exact' has the name of one of the judge 'exact'"
    assert told in done.out
    tables = project.tables("it")
    played = tables.frame("sessions").query("round == 0")
    assert set(played.outcome) == {"errored"}, "and no other round is begun"
    assert set(tables.frame("calls").session_id.value_counts()) == {1}, "nobody is asked after it"
    assert tables.frame("scores").empty


@pytest.mark.slow
def test_rubrics_called_like_a_score_of_the_run_judge_nothing_again(tmp_path: Path) -> None:
    project = project_of(tmp_path, KIND.format(named='"exact"'), "manners")
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done
    for named in ('"exact"', '"ex" + "act"'):  # what the code shows, and what the run has
        (tmp_path / "sums.py").write_text(KIND.format(named=named))
        done = project.matrix("rejudge", "it", "--rubric", "exact.md")
        assert (done.code, done.out) == (2, ""), done
        assert "'exact'" in done.err
        assert "give it another name" in done.err
    done = project.matrix(
        "rejudge", "it", "--rubric", "manners.md", "--executor", "in-process", "--quiet"
    )
    assert done.code == 0, "what judges gave may be given anew"
