"""Replays and branches of a kind in one file: from checkpoints, and from any call."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.kinds.function.performance import MOST_IN_A_ROW
from tests.executors.programs import Project

CODE = """
import matrix

@matrix.scenario(
    roles={"agent": "sim/gpt-4o-mini"},
    simulated={"agent": lambda asked: f"{asked.last} {asked.rng.randrange(1000)}"},
    turn_per_call=PER_CALL,
)
async def talk(ctx, manner: str = "calm", most: int = 4):
    said = []
    for number in range(most):
        drawn = ctx.rng("who").randrange(1000)
        answer = await ctx.ask("agent", f"{manner} {number} {drawn}")
        said.append(answer.text)
        ctx.score(f"at {number}", len(answer.text))
        CHECKPOINT
    return len(" ".join(said))
"""


A_CLASS = """
import matrix

@matrix.scenario(simulated={"agent": lambda asked: f"{asked.last} {asked.rng.randrange(1000)}"})
class talk:
    manner: str = "calm"
    most: int = 4

    async def turn(self, ctx, state):
        said = list(state or ())
        drawn = ctx.rng("who").randrange(1000)
        answer = await ctx.ask("agent", f"{self.manner} {len(said)} {drawn}")
        ctx.score(f"at {len(said)}", len(answer.text))
        if len(said) + 1 >= self.most:
            ctx.end()
        return [*said, answer.text]

    async def finish(self, ctx, state):
        ctx.score("score", len(" ".join(state)))
"""


def made(folder: Path, form: str) -> Project:
    code = CODE.replace("PER_CALL", str(form == "calls"))
    code = code.replace("CHECKPOINT", "pass" if form == "calls" else "await ctx.checkpoint()")
    if form == "class":
        code = A_CLASS
    (folder / "talk.py").write_text(code)
    project = Project(folder)
    run = (
        "run",
        "talk.py",
        "--executor",
        "in-process",
        "--quiet",
        "--run-id",
        "it",
        "--sessions",
        "2",
    )
    done = project.matrix(*run)
    assert done.code == 0, done.err
    return project


@pytest.fixture(params=["calls", "checkpoints", "class"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    return made(tmp_path, request.param)


def said(project: Project, run: str) -> dict[str, list[str]]:
    frame = project.tables(run).frame("messages")
    frame = frame[frame.channel == "table"]
    return {str(key): list(rows.text) for key, rows in frame.groupby("session_id")}


@pytest.mark.slow
def test_a_replay_says_and_scores_the_same_from_any_turn(project: Project) -> None:
    before = project.tables("it").frame("sessions").iloc[0]
    for turn in (0, 1, 3):
        run = f"again-{turn}"
        where = ("--turn", str(turn), "--run-id", run, "--executor", "in-process", "--quiet")
        done = project.matrix("replay", "it", before.session_id, *where)
        assert done.code == 0, done.err
        again = project.tables(run).frame("sessions").iloc[0]
        assert (again.score, again.turns) == (before.score, before.turns)
        (after,) = said(project, run).values()
        assert after == said(project, "it")[before.session_id]
        scores = project.tables(run).frame("scores")
        assert sorted(scores.name) == ["at 0", "at 1", "at 2", "at 3", "score"], "each said once"


@pytest.mark.slow
def test_a_branch_keeps_what_was_said_and_follows_the_change_from_there(project: Project) -> None:
    before = project.tables("it").frame("sessions").iloc[0]
    where = (
        "--turn",
        "2",
        "--times",
        "3",
        "--executor",
        "in-process",
        "--quiet",
        "--run-id",
        "other",
    )
    variants = ("--variants", "manner=calm,angry")
    done = project.matrix("branch", "it", before.session_id, *where, *variants)
    assert done.code == 0, done.err
    old = said(project, "it")[before.session_id]
    levels = project.tables("other").frame("sessions").set_index("session_id")
    found = said(project, "other")
    assert len(found) == 6
    for session, texts in found.items():
        manner = str(levels.loc[session, "manner"])
        assert texts[:2] == old[:2]
        assert texts[2].startswith(f"{manner} 2 ")
    assert len({tuple(texts) for texts in found.values()}) == 6


@pytest.mark.slow
@pytest.mark.parametrize("project", ["calls", "checkpoints"], indirect=True)
def test_a_change_that_would_have_ended_it_before_is_told_of(project: Project) -> None:
    before = project.tables("it").frame("sessions").iloc[0]
    where = (
        "--turn",
        "3",
        "--executor",
        "in-process",
        "--quiet",
        "--run-id",
        "other",
        "--set",
        "most=1",
    )
    done = project.matrix("replay", "it", before.session_id, *where)
    assert done.code == 1, done
    assert "with most=1, the function is over before checkpoint" in " ".join(done.err.split())


@pytest.mark.slow
def test_code_is_not_taken_from_a_checkpoint_file(project: Project) -> None:
    session = project.tables("it").frame("sessions").session_id[0]
    done = project.matrix("export", "it", session, "--turn", "1", "-o", "one.json")
    assert done.code == 0, done.err
    done = project.matrix("replay", "--checkpoint", "one.json", "--executor", "in-process")
    assert done.code == 2
    assert "code is not taken from a checkpoint file; go on from its run: matrix replay" in done.err


@pytest.mark.slow
def test_scores_beyond_the_range_that_nobody_declared_are_looked_at_as_any(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "points.py").write_text(
        "import matrix\n\n"
        "@matrix.scenario\n"
        "async def points(ctx, bonus: int = 0):\n"
        "    await ctx.ask('agent', 'go')\n"
        "    return 7 + bonus + ctx.rng('luck').random()\n"
    )
    done = project.matrix(
        "run", "points.py", "--set", "factors.bonus=[0, 2]", "--per-cell", "30", "--stop-early",
        "--executor", "in-process", "--run-id", "it",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "decided after 30 rounds" in done.out, "the failure gate takes more"
    told = project.matrix("compare", "it").out
    assert "beyond the range that is declared of them (`score_range`" in " ".join(told.split())


@pytest.mark.slow
@pytest.mark.parametrize("main", ["marks", "score"])
def test_a_session_without_the_main_score_has_none_and_not_another_of_its_scores(
    tmp_path: Path, main: str
) -> None:
    project = Project(tmp_path)
    (tmp_path / "mixed.py").write_text(
        "import matrix\n\n"
        "@matrix.scenario\n"
        "async def mixed(ctx, variant: str = 'a'):\n"
        "    await ctx.ask('agent', 'go')\n"
        + ("    ctx.score('polite', True)\n" if main == "score" else "")
        + "    if variant == 'a' or ctx.rng('lost').random() < 0.7:\n"
        f"        ctx.score('{main}', 60 + 10 * ctx.rng('luck').random())\n"
        "    ctx.score('seconds', 3)\n"
    )
    done = project.matrix(
        "run", "mixed.py", "--set", "factors.variant=[a, b]", "--per-cell", "20",
        "--executor", "in-process", "--run-id", "it",
    )  # fmt: skip
    assert done.code == 0, done.err
    sessions = project.tables("it").frame("sessions", ["variant", "score"])
    known = sessions.score.dropna()
    assert known.between(60, 70).all()
    lost = sessions[sessions.score.isna()]
    assert set(lost.variant.astype(str)) == {"b"}
    assert "Without a score, and in no mean" in " ".join(
        project.matrix("compare", "it").out.split()
    )


STATEFUL = """
import matrix
from datetime import datetime

@matrix.scenario
class keeps:
    async def start(self, ctx):
        return {START}

    async def turn(self, ctx, state):
        if ctx.turn == 3:
            ctx.end()
        {TURN}

    async def finish(self, ctx, state):
        ctx.score("score", state["n"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("{1: 0}", "the state has the key 1, and keys are texts where it is stored"),
        ("{'n': {1, 2}}", "the state['n'] is {1, 2} (set), which cannot be stored"),
        ("{'n': datetime.min}", "the state['n'] is datetime.datetime(1, 1, 1, 0, 0) (datetime)"),
        ("{'n': [1, float('nan')]}", "the state['n'][1] is nan (float), which cannot be stored"),
    ],
)
def test_a_state_that_would_come_back_otherwise_is_a_defect_of_the_first_round(
    tmp_path: Path, start: str, told: str
) -> None:
    code = STATEFUL.replace("{START}", start).replace("{TURN}", "return state")
    (tmp_path / "keeps.py").write_text(code)
    done = Project(tmp_path).matrix(
        "run", "keeps.py", "--executor", "in-process", "--sessions", "12", "--run-id", "it"
    )
    assert done.code == 4, done.out
    assert "no other round is begun" in done.err + done.out
    assert f"keeps.start: {told}" in " ".join((done.err + done.out).split())


@pytest.mark.slow
def test_a_state_is_live_what_it_is_when_it_comes_back(tmp_path: Path) -> None:
    turn = "state['n'] += isinstance(state['at'], list)"  # in place, and nothing is given back
    code = STATEFUL.replace("{START}", "{'n': 0, 'at': (1, 2)}").replace("{TURN}", turn)
    (tmp_path / "keeps.py").write_text(code)
    project = Project(tmp_path)
    run = ("run", "keeps.py", "--executor", "in-process", "--sessions", "1", "--run-id", "it")
    assert project.matrix(*run).code == 0
    assert list(project.tables("it").frame("sessions").score) == [3.0]
    done = project.matrix("replay", "it", "worst", "--turn", "2")
    assert "score     3.0; the parent had 3.0" in done.out


@pytest.mark.slow
def test_an_effect_that_gives_what_cannot_be_stored_buys_no_other_round(tmp_path: Path) -> None:
    (tmp_path / "acts.py").write_text(
        "import matrix\n\n@matrix.scenario\nasync def acts(ctx):\n"
        "    async def act():\n        return {1: 2}\n"
        "    await ctx.effect('look', act)\n    ctx.score('score', 1)\n"
    )
    done = Project(tmp_path).matrix(
        "run", "acts.py", "--executor", "in-process", "--sessions", "12", "--run-id", "it"
    )
    assert done.code == 4
    told = " ".join((done.err + done.out).split())
    assert "ctx.effect: the result of 'look' has the key 1" in told
    assert "acts.py:5" in told


IN_PROCESS = ("--executor", "in-process")
UNLIKE = """
import itertools
import matrix

NUMBERS = itertools.count()


@matrix.scenario(simulated={"agent": "Yes."})
async def unlike(ctx: matrix.ScenarioContext) -> None:
    for _ in range(3):
        await ctx.ask("agent", f"Is it {QUESTION}?")
        await ctx.checkpoint()
    ctx.score("done", 1.0)
"""


@pytest.mark.slow
def test_code_that_asks_otherwise_when_it_is_played_again_buys_one_round_and_can_be_mended(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    (tmp_path / "unlike.py").write_text(UNLIKE.replace("QUESTION", "next(NUMBERS)"))
    done = project.matrix("run", "unlike.py", *IN_PROCESS, "--per-cell", "30", "--run-id", "it")
    assert done.code == 4
    told = " ".join((done.err + done.out).split())
    assert "all 2 sessions of the first 2 rounds ended with the same defect" in told
    ended = project.tables("it").frame("sessions")
    assert sorted(ended.outcome) == ["censored"] * 28 + ["errored"] * 2
    errored = ended[ended.outcome == "errored"]
    assert set(errored.error_class) == {"KindDefect"}
    (reason,) = set(errored.end_reason)
    assert reason.startswith("it does not do the same again: played again, the function asks ")
    assert reason.endswith("(unlike.py:11)")
    (tmp_path / "unlike.py").write_text(UNLIKE.replace("QUESTION", "7"))
    mended = project.matrix("resume", "it", "--redo-errored", *IN_PROCESS)
    assert mended.code == 0, mended.out + mended.err
    after = project.tables("it").frame("sessions")
    assert set(after.outcome) == {"completed"}
    assert set(after.turns) == {4}


@pytest.mark.slow
def test_a_loop_without_an_end_is_a_defect_and_does_not_spend_the_cap(tmp_path: Path) -> None:
    code = UNLIKE.replace("for _ in range(3)", "while True").replace("QUESTION", "1")
    (tmp_path / "endless.py").write_text(code.replace("        await ctx.checkpoint()\n", ""))
    project = Project(tmp_path)
    done = project.matrix("run", "endless.py", *IN_PROCESS, "--per-cell", "30", "--run-id", "it")
    assert done.code == 4
    ended = project.tables("it").frame("sessions")
    (told,) = set(ended.end_reason[ended.outcome == "errored"])
    assert "a loop without an end is taken for a mistake" in told
    assert told.endswith("(endless.py:11)")
    assert len(project.tables("it").frame("calls", ["session_id"])) == 2 * MOST_IN_A_ROW
