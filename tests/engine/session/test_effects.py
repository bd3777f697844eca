"""Effects are done at least once and recorded once; the folder is part of every checkpoint."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from matrix.engine.session.workspace import Workspaces
from matrix.kinds.context import Context
from matrix.kinds.protocol import Kind
from matrix.model.entries import Acted, Ended
from matrix.model.errors import BlobsRefused, DigestMismatch, FolderUnavailable
from matrix.model.records import JSON, FolderLimits, Phase, SessionPlan
from matrix.store.blobs.blobs import BLOBS, BlobStore
from matrix.store.blobs.restoring import restore_tree
from matrix.store.upkeep.sweeping import FOLDERS
from tests.engine.live import Live, journal_entries
from tests.engine.lone_session import Journal
from tests.engine.mixed_kind import MixedKind, MixedState, say
from tests.engine.plans import MODEL, plan, setup
from tests.engine.waiting import until
from tests.plugins.scribe_kind import ScribeKind

TURNS = 4


def scribe(**changes: Any) -> SessionPlan:
    options = {"turns": TURNS}
    return plan(**{"kind": "scribe", "options": options, "prelude_id": None, **changes})


def folders(run_dir: Path) -> Workspaces:
    return Workspaces(run_dir, BlobStore(run_dir))


def scribes(run_dir: Path) -> Journal:
    return Journal(ScribeKind(), scribe(), workspaces=folders(run_dir))


class Told(NamedTuple):
    """What a session leaves behind."""

    states: list[tuple[Phase, int, bytes, str]]
    log: tuple[Any, ...]
    end: Ended | None


def told(journal: Journal, end: Ended | None) -> Told:
    states = [(turn.phase, turn.turn, turn.state, turn.tree) for turn in journal.turns]
    return Told(states, journal.history.snapshot.log, end)


def tally(run_dir: Path) -> Counter[str]:
    """How often each command was done."""
    return Counter((run_dir / "tally").read_text().splitlines())


async def undisturbed(run_dir: Path) -> Told:
    journal = scribes(run_dir)
    return told(journal, await journal.play())


@pytest.mark.slow
async def test_killed_after_any_answer_or_effect_a_session_leaves_the_same_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "whole").mkdir()
    expected = await undisturbed(tmp_path / "whole")
    assert expected.end is not None
    assert expected.end.outcome == "completed", expected.end.reason
    steps = 4 * TURNS
    for step in range(steps):
        run_dir = tmp_path / str(step)
        run_dir.mkdir()
        journal = scribes(run_dir)
        assert await journal.play(step) is None
        assert told(journal, await journal.play()) == expected, f"killed after {step} steps"
        done = tally(run_dir)
        assert set(done) == {f"s1 {n} {what}" for n in range(1, 5) for what in ("write", "read")}
        died_in_effect = step % 4 in (1, 2)
        assert sum(done.values()) == 2 * TURNS + died_in_effect, "recorded ones are not done again"


@pytest.mark.slow
async def test_killed_again_and_again_a_session_leaves_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    expected = await undisturbed(tmp_path / "whole")
    for seed in range(4):
        run_dir, rng = tmp_path / str(seed), random.Random(seed)
        run_dir.mkdir()
        journal, end = scribes(run_dir), None
        while end is None:
            end = await journal.play(rng.randrange(4))
        assert told(journal, end) == expected


async def test_every_checkpoint_can_be_looked_at_and_the_folder_itself_is_gone(
    run_dir: Path,
) -> None:
    journal = scribes(run_dir)
    await journal.play()
    assert [path for path in (run_dir / FOLDERS).iterdir() if path.is_dir()] == []
    for turn in journal.turns[1:-1]:
        target = run_dir / f"turn {turn.turn}"
        restore_tree(target, turn.tree, BlobStore(run_dir), 0)
        assert len((target / "diary").read_text().splitlines()) == turn.turn
        assert (target / "newest").readlink() == Path(f"turn-{turn.turn}")
        assert not (target / f"turn-{turn.turn - 2}").exists()
        assert (target / "empty").is_dir()
        assert (target / "diary").stat().st_mtime == 1000.5 + turn.turn


# --- a kind made of one function ------------------------------------------------------------------


class Doing(MixedKind):
    """One turn, which does what it is told; with a working folder."""

    folder_limits = FolderLimits(file_bytes=1000, total_bytes=2000, entries=10)

    def __init__(self, act: Callable[[Context], Awaitable[object]]) -> None:
        self._act = act

    async def turn(self, ctx: Context, state: MixedState) -> MixedState:
        found = await self._act(ctx)
        ctx.end("completed", repr(found))
        return state


def doing(run_dir: Path, act: Callable[[Context], Awaitable[object]]) -> Journal:
    todo = plan(kind="mixed", options={}, roles={"speaker": MODEL})
    return Journal(Doing(act), todo, workspaces=folders(run_dir))


async def end_of(run_dir: Path, act: Callable[[Context], Awaitable[object]]) -> Ended:
    end = await doing(run_dir, act).play()
    assert end is not None
    return end


async def test_a_resumed_session_sees_what_the_effect_gave_as_if_it_had_gone_on(
    run_dir: Path,
) -> None:
    done: list[int] = []

    async def act() -> JSON:
        done.append(1)
        return ("a tuple", {"n": 1.5}, None)

    async def twice(ctx: Context) -> object:
        first = await ctx.effect("look", act)
        await say(ctx, "die here")
        return first

    whole = await end_of(run_dir, twice)
    assert whole.reason == repr(["a tuple", {"n": 1.5}, None])
    journal = doing(run_dir, twice)
    assert await journal.play(2) is None
    end = await journal.play()
    assert end == whole
    assert len(done) == 2


async def test_an_effect_that_raises_is_recorded_and_raises_again(run_dir: Path) -> None:
    done: list[int] = []

    async def act() -> JSON:
        done.append(1)
        raise ValueError("the world said no")

    async def fails(ctx: Context) -> object:
        return await ctx.effect("knock", act)

    journal = doing(run_dir, fails)
    end = await journal.play()
    assert end is not None
    assert (end.outcome, end.error_class) == ("errored", "ValueError")
    assert end.reason == "effect 'knock': the world said no"
    journal.entries.pop()
    assert await journal.play() == end
    assert len(done) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [("other", 1, "was recorded as 'look'"), ("look", 2, "was recorded with other arguments")],
)
async def test_another_effect_than_the_recorded_one_is_an_error_that_says_so(
    run_dir: Path, name: str, arguments: int, said: str
) -> None:
    async def nothing() -> JSON:
        return None

    async def then(ctx: Context) -> object:
        await ctx.effect("look", nothing, arguments=1)
        return await say(ctx, "die here")

    async def now(ctx: Context) -> object:
        return await ctx.effect(name, nothing, arguments=arguments)

    journal = doing(run_dir, then)
    assert await journal.play(2) is None
    journal.kind = Doing(now)
    end = await journal.play()
    assert end is not None
    assert (end.outcome, end.error_class) == ("errored", DigestMismatch.__name__)
    assert said in end.reason
    assert "turn:1:0" in end.reason


async def test_a_call_where_an_effect_was_recorded_is_an_error_that_says_so(run_dir: Path) -> None:
    async def nothing() -> JSON:
        return None

    async def then(ctx: Context) -> object:
        await ctx.effect("look", nothing)
        return await say(ctx, "die here")

    async def now(ctx: Context) -> object:
        return await say(ctx, "something")

    journal = doing(run_dir, then)
    assert await journal.play(2) is None
    journal.kind = Doing(now)
    end = await journal.play()
    assert end is not None
    assert end.error_class == DigestMismatch.__name__
    assert "the effect 'look' was recorded" in end.reason


async def test_effects_on_a_folder_are_refused_inside_parallel(run_dir: Path) -> None:
    async def child(ctx: Context) -> object:
        return await ctx.command(["true"])

    async def both(ctx: Context) -> object:
        return await ctx.parallel([child, child])

    assert (await end_of(run_dir, both)).error_class == "UndeclaredConcurrency"


async def test_a_kind_without_a_folder_may_have_effects_at_once_but_no_commands() -> None:
    async def one(ctx: Context) -> JSON:
        async def act() -> JSON:
            return ctx.rng("a").random()

        return await ctx.effect("draw", act)

    class Alone(MixedKind):
        async def turn(self, ctx: Context, state: MixedState) -> MixedState:
            assert len(set(await ctx.parallel([one, one]))) == 2
            await ctx.command(["true"])
            return state

    kind: Kind = Alone()
    journal = Journal(kind, plan(kind="mixed", options={}, roles={"speaker": MODEL}))
    end = await journal.play()
    assert end is not None
    assert end.error_class == FolderUnavailable.__name__
    assert "declares `folder_limits`" in end.reason
    assert sorted(e.key.slot for e in journal.entries if isinstance(e, Acted)) == ["0.0.0", "0.1.0"]


async def test_a_file_that_is_too_large_ends_the_session_by_name(run_dir: Path) -> None:
    async def large(ctx: Context) -> object:
        return await ctx.command(["sh", "-c", "mkdir sub; head -c 1001 /dev/zero > sub/big"])

    end = await end_of(run_dir, large)
    assert (end.outcome, end.error_class) == ("errored", "FolderRefused")
    assert "sub/big" in end.reason
    assert "1,001" in end.reason


# --- commands -------------------------------------------------------------------------------------


async def test_a_command_gets_input_and_variables_but_no_keys_and_no_home_of_anybody(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")

    async def look(ctx: Context) -> object:
        found = await ctx.command(
            ["sh", "-c", 'cat; env; pwd; touch "$HOME/here"; echo oops >&2; exit 3'],
            stdin="words\n",
            environment={"MORE": "yes"},
        )
        lines = found.out.splitlines()
        assert lines[0] == "words"
        assert "MORE=yes" in lines
        assert not any("a-key" in line for line in lines)
        assert lines[-1] == str(ctx.workspace)
        home = next(line for line in lines if line.startswith("HOME="))
        assert home == f"HOME={ctx.workspace.parent / 'scratch'}"
        assert list(ctx.workspace.iterdir()) == [], "what is at home is not kept"
        return (found.code, found.err, found.timed_out)

    assert (await end_of(run_dir, look)).reason == "(3, 'oops\\n', False)"


async def test_a_command_that_takes_too_long_is_killed_with_all_that_it_started(
    run_dir: Path,
) -> None:
    async def slow(ctx: Context) -> object:
        found = await ctx.command(["sh", "-c", "sleep 600 & sleep 600"], timeout_s=0.05)
        return (found.code, found.timed_out)

    assert (await end_of(run_dir, slow)).reason == "(None, True)"


async def test_what_a_command_leaves_in_the_background_does_not_write_after_its_effect(
    run_dir: Path,
) -> None:
    async def leaves(ctx: Context) -> object:
        script = "(while :; do echo more >> log; done) & while ! test -s log; do :; done"
        await ctx.command(["sh", "-c", script])
        (ctx.workspace / "log").write_text("quiet")
        await ctx.command(["true"])
        return (ctx.workspace / "log").read_text()

    class Wide(Doing):
        folder_limits = FolderLimits()

    journal = doing(run_dir, leaves)
    journal.kind = Wide(leaves)
    end = await journal.play()
    assert end is not None
    assert end.reason == "'quiet'"


async def test_a_program_that_is_not_there_is_a_result(run_dir: Path) -> None:
    async def missing(ctx: Context) -> object:
        return (await ctx.command(["no-such-program"])).code

    assert (await end_of(run_dir, missing)).reason == "127"


LEAVES = """
import os, subprocess, sys
child = subprocess.Popen(
    ["sh", "-c", "while :; do :; done"], start_new_session=True, close_fds=True,
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
print(child.pid)
"""


async def test_a_child_with_a_session_of_its_own_ends_with_its_command(run_dir: Path) -> None:
    """Nothing of the command's pipe or group is left to it, which is Python's default."""

    async def leaves(ctx: Context) -> object:
        return int((await ctx.command([sys.executable, "-c", LEAVES])).out)

    pid = int((await end_of(run_dir, leaves)).reason)
    assert not Path(f"/proc/{pid}").exists() or _is_over(pid)


def _is_over(pid: int) -> bool:
    """Whether it is dead, and only nobody has taken note of it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


ORPHAN = """
import sys, time
from pathlib import Path
from matrix.agents.processes import Command, Running
folder = Path(sys.argv[1])
script = "while :; do echo more >> log; done"
command = Command(["sh", "-c", script], folder, folder, "", {}, 600.0, int(sys.argv[2]))
Running(command).run()
"""


async def test_commands_of_a_killed_process_die_and_only_then_the_folder_is_free(
    run_dir: Path,
) -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        process.kill()
        await asyncio.sleep(seconds)  # real processes die in real time

    workspaces = Workspaces(run_dir, BlobStore(run_dir), sleep=pause)
    first = await workspaces.open("s1", FolderLimits())
    await first.restore("")
    handle = first._lock
    process = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(first.path), str(handle)], pass_fds=(handle,)
    )
    await until(lambda: (first.path / "log").exists())
    first.release()
    second = await workspaces.open("s1", FolderLimits())
    assert waits, "the command was alive and had the lock"
    assert process.wait() == -signal.SIGKILL
    await second.restore("")
    assert list(second.path.iterdir()) == []
    second.release()


# --- where folders are ----------------------------------------------------------------------------


async def test_where_nothing_can_be_kept_a_session_says_so(run_dir: Path) -> None:
    journal = Journal(ScribeKind(), scribe(), workspaces=Workspaces(run_dir, None))
    end = await journal.play()
    assert end is not None
    assert (end.outcome, end.error_class) == ("errored", FolderUnavailable.__name__)
    assert "cannot reach the blobs" in end.reason


async def test_a_folder_that_another_process_keeps_is_not_taken(run_dir: Path) -> None:
    async def no_time(seconds: float) -> None:
        return None

    workspaces = Workspaces(run_dir, BlobStore(run_dir), sleep=no_time)
    first = await workspaces.open("s1", FolderLimits())
    with pytest.raises(FolderUnavailable, match="another process still uses"):
        await workspaces.open("s1", FolderLimits())
    first.release()
    (await workspaces.open("s1", FolderLimits())).release()


# --- with a governor ------------------------------------------------------------------------------


async def test_a_run_journals_effects_and_a_second_life_does_none_again(run_dir: Path) -> None:
    todo = [scribe(session_id=name, order=number) for number, name in enumerate("abc")]
    kinds: dict[str, Kind] = {"scribe": ScribeKind()}
    async with Live(setup(run_dir, kind="scribe"), kinds=kinds) as live:
        await live.play(*todo)
        assert [news.ended.outcome for news in live.ended] == ["completed"] * 3
    acted = journal_entries(run_dir, lambda entry: isinstance(entry, Acted))
    assert len(acted) == 3 * 2 * TURNS
    assert set(tally(run_dir).values()) == {1}


async def test_a_disk_that_takes_no_files_fails_the_run_and_a_later_life_finishes_it(
    run_dir: Path,
) -> None:
    kinds: dict[str, Kind] = {"scribe": ScribeKind()}
    (run_dir / BLOBS).write_text("no folder")
    async with Live(setup(run_dir, kind="scribe"), kinds=kinds) as live:
        await live.play(scribe())
        assert [failure.error_class for failure in live.failures] == [BlobsRefused.__name__]
        assert "matrix resume run" in live.failures[0].message
    assert not any(isinstance(entry, Ended) for entry in journal_entries(run_dir))
    (run_dir / BLOBS).unlink()
    async with Live(setup(run_dir, kind="scribe"), kinds=kinds) as live:
        await live.play(scribe())
        assert [news.ended.outcome for news in live.ended] == ["completed"]


@pytest.mark.slow
async def test_stopped_in_the_middle_of_an_effect_it_is_done_again_from_the_folder_before(
    run_dir: Path,
) -> None:
    kinds: dict[str, Kind] = {"scribe": ScribeKind()}
    whole = run_dir.parent / "whole"
    whole.mkdir()
    async with Live(setup(whole, kind="scribe"), kinds=kinds) as live:
        await live.play(scribe())
    async with Live(setup(run_dir, kind="scribe"), kinds=kinds) as live:
        live.worker.open([scribe()])
        await until(lambda: (run_dir / "tally").exists() and "s1 3 write" in tally(run_dir))
    async with Live(setup(run_dir, kind="scribe"), kinds=kinds) as live:
        await live.play(scribe())
    trees = [{(e.key, e.tree) for e in acts(place)} for place in (whole, run_dir)]
    assert trees[0] == trees[1]
    assert len(acts(run_dir)) == 2 * TURNS
    assert sum(tally(run_dir).values()) >= 2 * TURNS


def acts(run_dir: Path) -> list[Acted]:
    return [entry for entry in journal_entries(run_dir) if isinstance(entry, Acted)]
