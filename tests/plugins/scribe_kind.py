"""The ``scribe`` kind: asks a model and edits files by commands. With its folder on the path of
Python it is installed, as somebody else's kind would be.

Everything it writes gets times that depend on the turn only, so two runs of it must leave the very
same folders. Every command that is done leaves a line in ``tally``, outside the folder. A file that
the variable ``SCRIBE_PLACES`` names gets a line for every turn: who played it, and in which folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from matrix.kinds.context import CommandResult, Context, ForkContext
from matrix.kinds.counter import COUNTER
from matrix.kinds.protocol import (
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.model.records import JSON, ChatMessage, FolderLimits, Message

MODEL = "sim/gpt-4o-mini"
SYSTEM = f"{COUNTER}\n\nAnswer with the next whole number and nothing else."

TALLY = "../../../tally"
"""As seen from a working folder."""

SCAFFOLD, BULK, BULK_TURN = "scaffold", "bulk", 3
"""Folders of a scenario that sessions are given, at the start and in that turn."""

WRITE = """
echo "$1 $2 write" >> "$TALLY"
echo "$3" >> diary
mkdir "turn-$2"
printf '%s' "$3" > "turn-$2/word"
chmod 640 "turn-$2/word"
ln -sfn "turn-$2" newest
mkdir -p empty
sleep 0.01
test "$2" -gt 2 && rm -r "turn-$(($2 - 2))"
touch -h -d "@$((1000 + $2)).5" newest "turn-$2/word" "turn-$2" diary empty .
"""

READ = """
echo "$1 $2 read" >> "$TALLY"
cat diary note newest/word | cksum
"""


class ScribeOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: int = 4
    step: int = 1


class ScribeState(BaseModel):
    """The checksum of what was written."""

    sum: str = ""


class ScribeKind:
    """See the module."""

    name = "scribe"
    version = 1
    state_version = 1
    roles: tuple[RoleInfo, ...] = (RoleInfo("counter", MODEL, "says what to write"),)
    options_model: type[BaseModel] = ScribeOptions
    state_model: type[BaseModel] = ScribeState
    score_range = (0.0, 1.0)
    lower_is_better: frozenset[str] = frozenset()
    folder_limits = FolderLimits(file_bytes=10_000, total_bytes=50_000, entries=20)

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        return ScenarioPack(name, self.name, name, "", {"folder": str(folder)})

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        calls = 2.0 * max_turns
        profile = RoleProfile("counter", roles["counter"], (calls, calls, calls), 40.0, 2.0)
        given = {
            name: Path(str(pack.content["folder"])) / name
            for name in (SCAFFOLD, BULK)
            if "folder" in pack.content and (Path(str(pack.content["folder"])) / name).is_dir()
        }
        return Binding({}, None, frozenset({roles["counter"]}), (profile,), folders=given)

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        own = pack or ScenarioPack(kept.plan.scenario, self.name, "", "", {})
        return self.bind(own, options, roles, library, kept.plan.max_turns)

    def fork(
        self, ctx: ForkContext, state: ScribeState, changes: Mapping[str, JSON]
    ) -> ScribeState:
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> ScribeState:
        assert list(ctx.workspace.iterdir()) == []
        if given(ctx, SCAFFOLD):
            await ctx.copy_folder(SCAFFOLD)
        return ScribeState()

    async def turn(self, ctx: Context, state: ScribeState) -> ScribeState:
        await at_the_gate(ctx)
        if ctx.turn == BULK_TURN and given(ctx, BULK):
            await ctx.copy_folder(BULK, "in/here")
        word = await say(ctx, f"Count on from {len(state.sum) + ctx.turn}.")
        note(ctx, word)
        written = await shell(ctx, WRITE, word)
        assert written.code == 0, written.err
        read = await shell(ctx, READ)
        again = await say(ctx, f"{read.out.split()[0]} is its sum. Count on from {ctx.turn}.")
        note(ctx, again)
        ctx.log.append(Message("table", "counter", f"{word} {read.out} {again}", ctx.turn))
        for what, names in (await ctx.changed_files())._asdict().items():
            ctx.event(f"files {what}", detail=" ".join(names))
        if ctx.turn >= ScribeOptions.model_validate(ctx.plan.options).turns:
            ctx.end("completed", "written")
        return ScribeState(sum=read.out)

    async def finish(self, ctx: Context, state: ScribeState) -> None:
        ctx.score("score", len((ctx.workspace / "diary").read_text()) / 1000)


async def at_the_gate(ctx: Context) -> None:
    """Nobody plays its third turn before somebody has made the file that opens the gate."""
    gate = os.environ.get("SCRIBE_GATE", "")
    while gate and ctx.turn == BULK_TURN and not Path(gate).exists():
        await asyncio.sleep(0.05)


def given(ctx: Context, name: str) -> bool:
    return f"initial folder: {name}" in ctx.plan.resources


async def say(ctx: Context, text: str) -> str:
    messages = [ChatMessage("system", SYSTEM), ChatMessage("user", text)]
    return (await ctx.ask("counter", messages, max_tokens=16)).text


async def shell(ctx: Context, script: str, *arguments: str) -> CommandResult:
    place = (ctx.plan.session_id, str(ctx.turn))
    return await ctx.command(
        ["sh", "-c", script, "sh", *place, *arguments], environment={"TALLY": TALLY}
    )


def note(ctx: Context, text: str) -> None:
    """What the kind writes by itself, without a command."""
    if places := os.environ.get("SCRIBE_PLACES"):
        with Path(places).open("a") as told:
            told.write(f"{os.getpid()} {ctx.workspace}\n")
    path = ctx.workspace / "note"
    with path.open("a") as target:
        target.write(text)
    for touched in (path, path.parent):
        os.utime(touched, (2000 + ctx.turn, 2000 + ctx.turn))


KIND = ScribeKind()
