"""The ``gateway`` kind: one command, whose model requests are calls of its session.

`matrix gateway -- COMMAND` plays it. The command has the terminal, the working directory and the
environment of whoever started it, but for the keys of providers: in their place it is given the
metered address and a key that is worthless elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from matrix.kinds.context import Context, ForkContext, MeteredAddress
from matrix.kinds.protocol import (
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    RoleProfile,
    ScenarioPack,
)
from matrix.kinds.running_command import RunningCommand
from matrix.kinds.text_files import read_text
from matrix.model.documents.yaml_documents import check, parse_document
from matrix.model.errors import BadInput, Mistake, Suspended
from matrix.model.records import JSON

GATEWAY = "gateway"
ROLE = "command"
NOT_FOUND, NOT_ALLOWED = 127, 126
"""Exit codes of shells for a command that is not there, or cannot be run."""
_ENDED_BY_SIGNAL = 128
_OF_AN_INTERRUPT: Final = (-signal.SIGINT, _ENDED_BY_SIGNAL + signal.SIGINT)
"""Exit codes of what Ctrl-C has ended: of a program, and of a shell whose program it was."""


_SHOWN: Final = 200


class GatewayOptions(BaseModel):
    """Options of the gateway kind."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    command: tuple[str, ...] = Field(
        min_length=1, description="Program and arguments, as `matrix gateway` was given them."
    )
    models: tuple[str, ...] = Field(
        default=(), description="Models that it may ask, by litellm's names."
    )
    stand_in: str = Field(
        default="", description="A model that answers for every name, e.g. sim/opus-4.5."
    )
    hidden: tuple[str, ...] = Field(
        default=(), description="Variables that the command does not get: keys of providers."
    )


class GatewayPack(BaseModel):
    """``scenario.yaml`` of a gateway."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    kind: str = Field(description="Always `gateway`.")
    title: str = Field(description="Name for people.")


class GatewayState(BaseModel):
    """What came of the command."""

    exit_code: int = 0
    requests: int = 0
    capped: int = 0


class GatewayKind:
    """See the module."""

    name = GATEWAY
    owns_terminal = True
    version = 1
    state_version = 1
    roles = (RoleInfo(ROLE, "as-asked", "the command; it names its models itself"),)
    options_model = GatewayOptions
    state_model = GatewayState
    score_range = (0.0, 255.0)
    lower_is_better: frozenset[str] = frozenset({"exit_code", "capped"})
    score_names: frozenset[str] = frozenset({"exit_code", "requests", "capped"})

    def __init__(self) -> None:
        self._running: RunningCommand | None = None
        self._asked = self._interrupted = False
        self._end_run: Callable[[], None] = _nobody

    def run_begins(self, end_run: Callable[[], None]) -> None:
        """Forget what was asked of another run of this process."""
        self._running, self._end_run = None, end_run
        self._asked = self._interrupted = False

    def interrupted(self) -> bool:
        """Pass Ctrl-C on to a command that the terminal does not tell."""
        if self._running is None or self._asked:
            return False
        self._interrupted = True
        self._running.interrupt()
        return True

    def asked_to_end(self) -> bool:
        """Ask the command to end, and end it if it does not; none is started any more."""
        self._asked = True
        if self._running is None:
            return False
        self._running.ask_to_end()
        return True

    def holds_code(self, texts: Mapping[str, JSON], options: Mapping[str, JSON]) -> str:
        """The command, which runs as its user does."""
        command = options.get("command")
        words = map(str, command) if isinstance(command, Sequence) else ()
        return f"runs the command {' '.join(words)[:_SHOWN]!r}, without a sandbox"

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        path = folder / "scenario.yaml"
        pack = check(parse_document(read_text(path), str(path)), GatewayPack)
        return ScenarioPack(name, self.name, pack.title, "", {})

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        chosen = GatewayOptions.model_validate(options.model_dump())
        models = {*chosen.models, *filter(None, [chosen.stand_in])}
        if not models:
            raise BadInput(
                [Mistake("options", None, "options.models", "names no model; name at least one")]
            )
        # how much it asks nobody knows; a stand-in is named, so that it is known to be one
        asked = RoleProfile(ROLE, chosen.stand_in, (0.0, 0.0, 0.0), 0.0, 0.0)
        profile = (asked,) if chosen.stand_in else ()
        return Binding({}, None, frozenset(models), profile, turns=(1.0, 1.0, 1.0), raw=True)

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        own = ScenarioPack(kept.plan.scenario, self.name, "", "", {})
        return self.bind(pack or own, options, roles, library, kept.plan.max_turns)

    def fork(
        self, ctx: ForkContext, state: GatewayState, changes: Mapping[str, JSON]
    ) -> GatewayState:
        return state

    async def prelude(self, ctx: Context) -> JSON:
        return None

    async def start(self, ctx: Context) -> GatewayState:
        return GatewayState()

    async def turn(self, ctx: Context, state: GatewayState) -> GatewayState:
        options = GatewayOptions.model_validate(ctx.plan.options)

        async def work(address: MeteredAddress) -> JSON:
            code = await self._run(options, address)
            return {"exit_code": code, "requests": address.requests, "capped": address.capped}

        done = await ctx.metered(
            ROLE,
            work,
            name=f"command {options.command[0]}",
            arguments=list(options.command),
            agent=Path(options.command[0]).name,
            stand_in=options.stand_in,
        )
        ended = GatewayState.model_validate(done)
        ctx.end("completed", f"the command ended with {ended.exit_code}")
        return ended

    async def _run(self, options: GatewayOptions, address: MeteredAddress) -> int:
        """The command's exit code, as a shell would tell it.

        Raises:
            Suspended: It was not started, or did not end by itself.
        """
        if self._asked:
            raise Suspended("the run was asked to end before its command had begun")
        kept = {name: text for name, text in os.environ.items() if name not in options.hidden}
        # a program that talks to somebody has to stay in the terminal's foreground group, where
        # Ctrl-C and a closed terminal reach its children too; any other gets a group of its own,
        # so that its children can be ended with it
        alone = not any(os.isatty(number) for number in range(3))
        try:
            process = await asyncio.create_subprocess_exec(
                *options.command,
                env={**kept, **address.environment},
                process_group=0 if alone else None,
            )
        except FileNotFoundError:
            return NOT_FOUND
        except OSError:
            return NOT_ALLOWED
        code = await self._end_of(RunningCommand(process, own_group=alone))
        if cut_short(code, asked=self._asked, interrupted=self._interrupted):
            self._end_run()
            raise Suspended("the run was interrupted, and its command with it")
        return code if code >= 0 else _ENDED_BY_SIGNAL - code

    async def _end_of(self, command: RunningCommand) -> int:
        """Wait for a command's end; its exit code, negative for a signal."""
        self._running = command
        if self._asked:  # while it was being started
            command.ask_to_end()
        try:
            return await command.wait()
        except asyncio.CancelledError:
            await command.end()
            raise
        finally:
            self._running = None

    async def finish(self, ctx: Context, state: GatewayState) -> None:
        for name, value in state.model_dump().items():
            ctx.score(name, float(value))


def _nobody() -> None:
    """Before any run."""


def cut_short(code: int, *, asked: bool, interrupted: bool) -> bool:
    """Whether a command has ended before its work was done, as far as anybody can know.

    What was asked to end may have left out anything, whatever it says of itself. Ctrl-C is ordinary
    for a program that talks to somebody, so it is one only if the program died of it.

    Args:
        code: Its exit code, negative for a signal.
        asked: Whether it was asked to end, because the run was.
        interrupted: Whether Ctrl-C has reached it.
    """
    return asked or (interrupted and code in _OF_AN_INTERRUPT)


KIND = GatewayKind()
