"""Which score of a kind in one file counts, and which way: said everywhere, turned by nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import matrix
from matrix.api.opened import open_run
from matrix.testing import play
from tests.executors.programs import Done, Project
from tests.kinds.function.chat import chat

HEAD = "import matrix\n\n"
RUN = ("--executor", "in-process", "--run-id", "it")
FACTOR = ("--set", "factors.mood=[calm, angry]")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def write(project: Project, body: str, declared: str = "") -> None:
    code = f"@matrix.scenario({declared})\nasync def one(ctx, mood: str = 'calm'):\n{body}"
    (project.folder / "kind.py").write_text(HEAD + code)


def played(project: Project, *more: str, rounds: int = 12) -> Done:
    return project.matrix("run", "kind.py", *RUN, *FACTOR, "--per-cell", str(rounds), *more)


def scoring(name: str) -> str:
    """Calm has one less of it, in every round, and now and then more than that."""
    return f"    ctx.score({name!r}, (mood == 'angry') * (1 + ctx.rng('a').random() / 2))\n"


def in_words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("declared", ["", "scores=['errors', 'good']"])
def test_a_score_that_is_called_as_what_is_better_low_is_told_until_it_is_declared(
    project: Project, declared: str
) -> None:
    write(project, scoring("errors") + "    ctx.score('good', 1)\n", declared)
    told = (
        "more of errors counts as better, and its name says that less is: write "
        'lower_is_better=["errors"] in @matrix.scenario of kind.py:one'
    )
    checked = project.matrix("validate", "kind.py")
    assert checked.code == 0, "it is odd, and no mistake"
    assert told in in_words(checked.out)
    assert told in in_words(project.matrix("plan", "kind.py").out)
    assert told in in_words(played(project, rounds=1).err)
    low = f"{declared}, " * bool(declared) + "lower_is_better=['errors']"
    write(project, scoring("errors") + "    ctx.score('good', 1)\n", low)
    assert project.matrix("validate", "kind.py").out == "fine: nothing wrong found\n"


@pytest.mark.slow
def test_the_score_goes_the_way_of_the_one_that_it_is_and_everything_says_both(
    project: Project,
) -> None:
    write(project, scoring("replies"), "lower_is_better=['replies']")
    told = "score (= replies), less is better"
    assert f"compared on {told}" in in_words(project.matrix("plan", "kind.py", *FACTOR).out)
    done = played(project, "--set", "compare.failure_margin=40")
    assert "Verdict: calm beats angry" in done.out, done
    assert told in in_words(done.out)
    assert f"compared on {told} (" in in_words(project.matrix("compare", "it").out)
    assert "= replies), less is better" in project.matrix("report", "it", "--format", "md").out
    assert "= replies), less is better: calm 0" in (
        project.matrix("report", "it", "--format", "github").out
    )
    assert project.matrix("report", "it").code == 0
    assert told in (project.path("it") / "report.html").read_text()
    data = json.loads(project.matrix("show", "it", "--json").out)
    assert data["comparison"]["higher_is_better"] is False


@pytest.mark.slow
def test_a_run_whose_direction_nobody_declared_is_mended_and_says_so(project: Project) -> None:
    write(project, scoring("replies"))
    done = played(project, "--set", "compare.failure_margin=40")
    assert "Verdict: angry beats calm" in done.out, done
    told = in_words(project.matrix("compare", "it", "--lower-is-better").out)
    assert "compared on score (= replies), less is better (" in told
    assert "Verdict: calm beats angry" in told
    assert "That less is better was not declared before launch." in told
    assert "Reports of the run, and its gates, go by what was declared." in told
    same = project.matrix("compare", "it", "--higher-is-better").out
    assert same == project.matrix("compare", "it").out
    gate = ("--threshold", "replies=1", "--fail-on", "threshold")
    refused = project.matrix("compare", "it", "--lower-is-better", *gate)
    assert refused.code == 2
    assert "--lower-is-better: gates go by what the runs declare" in refused.err


def test_what_is_declared_is_compared_whatever_a_branch_gives_back(project: Project) -> None:
    guard = "    if mood == 'none':\n        return 0\n    ctx.score('good', ctx.rng().random())\n"
    write(project, guard, "scores=['good']")
    done = played(project, rounds=2)
    assert done.code == 0, done
    assert "score (= good), more is better" in in_words(done.out)
    assert project.tables("it").frame("sessions").score.notna().all()


def test_a_compared_score_that_nobody_has_is_an_error_that_names_the_others(
    project: Project,
) -> None:
    guard = "    if mood == 'none':\n        return 0\n    ctx.score('good', ctx.rng().random())\n"
    write(project, guard)
    done = played(project, rounds=2)
    assert done.code == 1, done
    assert "nothing has the compared metric 'score': good has 4 values" in in_words(done.err)
    assert "`--set compare.metric=good` compares a new run on that" in in_words(done.err)


def test_a_compared_metric_that_nothing_has_is_an_error_though_sessions_have_scores(
    project: Project,
) -> None:
    """A misspelt one ended with 0 where no score is declared."""
    write(project, "    ctx.score('good', 1)\n    return 2\n")
    done = played(project, "--set", "compare.metric=goood", "--json", rounds=2)
    assert done.code == 1, done
    assert "nothing has the compared metric 'goood'" in in_words(done.err)
    assert json.loads(done.out)["scored"] == 0


def test_a_function_may_end_with_what_gives_nothing(project: Project) -> None:
    ends = "    ctx.score('good', 1)\n    return ctx.end('completed', 'over')\n"
    write(project, ends)
    assert "score (= good), more is better" in in_words(played(project, rounds=2).out)


@pytest.mark.parametrize("mood", ["calm", "angry"])
def test_who_answers_for_a_model_is_told_every_option(mood: str) -> None:
    seen = []

    def customer(asked: object) -> str:
        seen.append(asked.options)  # type: ignore[attr-defined]
        return "It is solved."

    answers = {"agent": "So.", "customer": customer, "judge": "1"}
    play(chat, answers, case="wifi", mood=mood)
    assert seen == [{"mood": mood, "turns": 6, "each": 1}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("lower_is_better='steps'", "lower_is_better is 'steps'; must be a list of names"),
        (
            "scores=['steps'], lower_is_better=['step']",
            "lower_is_better has 'step'; the scores are: steps; did you mean 'steps'?",
        ),
    ],
)
def test_a_direction_of_what_is_no_score_is_refused(
    project: Project, declared: str, told: str
) -> None:
    write(project, scoring("steps"), declared)
    checked = project.matrix("validate", "kind.py")
    assert checked.code == 2
    assert told in in_words(checked.out + checked.err)


@pytest.mark.slow
def test_the_worst_session_is_the_one_with_the_most_of_what_is_better_low(
    project: Project,
) -> None:
    write(project, scoring("replies"), "lower_is_better=['replies']")
    played(project)
    frame = project.tables("it").frame("sessions", ["session_id", "score"])
    scores = frame.set_index("session_id")["score"]
    run = open_run("it", results=project.folder / "results")
    best, worst = (run.session(which).session_id for which in ("best", "worst"))
    assert (scores[best], scores[worst]) == (scores.min(), scores.max())
    comment = project.matrix("report", "it", "--format", "github").out
    assert worst[:12] in next(line for line in comment.splitlines() if line.startswith("- worst"))


@pytest.mark.slow
@pytest.mark.parametrize("taken", ["turns", "calls", "failed", "cost_usd"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_score_cannot_be_called_as_what_is_counted_of_every_session(
    project: Project, taken: str, *, declared: bool
) -> None:
    write(project, scoring(taken), f"scores=[{taken!r}]" * declared)
    told = f"a score cannot be called {taken!r}, as what is counted of every session is: "
    for command in ("validate", "run"):
        done = project.matrix(command, "kind.py")
        assert (done.code, told in done.err) == (2, True), done.err
    assert not (project.folder / "results").exists()


def test_a_name_that_is_taken_is_refused_where_it_is_put_together_as_well() -> None:
    @matrix.scenario
    async def one(ctx: Any) -> None:
        ctx.score("tur" + "ns", 1.0)

    with pytest.raises(AssertionError, match="cannot be called 'turns'"):
        play(one, lambda _: None)


@pytest.mark.slow
def test_a_default_of_another_type_is_told_before_anything_is_played(project: Project) -> None:
    code = "@matrix.scenario()\nasync def one(ctx, tries: int = 'a', mood: str = None):\n    pass\n"
    (project.folder / "kind.py").write_text(HEAD + code)
    done = project.matrix("validate", "kind.py")
    assert done.code == 2
    assert "parameter 'tries' is 'a' by default, which is no int" in done.err
    assert "parameter 'mood' is None by default, which is no str" in done.err


@pytest.mark.slow
def test_code_in_which_no_score_stands_is_told_before_it_is_played(project: Project) -> None:
    write(project, "    pass\n")
    assert "no score stands in the code of " in in_words(project.matrix("plan", "kind.py").out)
    write(project, "    return 1.0\n")
    assert "no score stands" not in project.matrix("plan", "kind.py").out
