"""The one port through which a kind reaches the world: what the engine gives it in a session.

Rules that make sessions durable and comparable, and that the engine enforces where it can:

* models are reached by ``ctx.ask`` only, several at once only through ``ctx.parallel``;
* the world is acted on by ``ctx.effect`` and ``ctx.command`` only, files are kept in
  ``ctx.workspace`` only;
* randomness comes from ``ctx.rng(name)`` only, time from ``ctx.elapsed_s`` only;
* given the same answers, a kind does the same again: that is what resume relies on.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from matrix.model.records import (
    JSON,
    Answer,
    ChatMessage,
    Message,
    Outcome,
    Player,
    SessionPlan,
    Tool,
)

T = TypeVar("T")


MOST_OUTPUT: Final = 256 * 1024
"""Bytes of each output of a command that are kept."""


class CommandResult(NamedTuple):
    """How a command ended. ``code`` is ``None`` if it was killed for taking too long.

    Of each output the first 256 KiB are kept; ``out_bytes`` and ``err_bytes`` say how much it was.
    """

    code: int | None
    out: str
    err: str
    timed_out: bool = False
    out_bytes: int = 0
    err_bytes: int = 0


class MeteredAddress(Protocol):
    """Where a program sends its model requests to have them metered."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables by which the providers' own clients find the address, and its key."""
        ...

    @property
    def requests(self) -> int:
        """Requests so far."""
        ...

    @property
    def capped(self) -> int:
        """Those that were refused because a cap was reached."""
        ...


class MessageLog(Protocol):
    """A session's append-only messages: read by position, never changed."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int) -> Message: ...

    def append(self, message: Message) -> int:
        """Add a message; returns its position, which state may keep as a cursor."""
        ...

    def tail(self, channel: str, count: int) -> list[Message]:
        """The last ``count`` messages of one channel, oldest first."""
        ...

    def channel(self, channel: str) -> Sequence[Message]:
        """Every message of one channel, oldest first."""
        ...


class ChangedFiles(NamedTuple):
    """Files that are other than before: paths inside the folder, with ``/``, in order."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Context(Protocol):
    """The port between a kind and the engine, bound to one session and one turn."""

    @property
    def plan(self) -> SessionPlan: ...

    @property
    def turn(self) -> int:
        """Number of the turn being played; 0 during ``start``."""
        ...

    @property
    def log(self) -> MessageLog: ...

    @property
    def prelude(self) -> JSON:
        """What ``Kind.prelude`` made for this round and scenario; ``None`` without one."""
        ...

    @property
    def elapsed_s(self) -> float:
        """The session's own clock: recorded model time only, without waits."""
        ...

    def resource(self, name: str) -> JSON:
        """A text or data that ``Kind.bind`` named for this session."""
        ...

    def rng(self, name: str) -> random.Random:
        """A stream of its own, fresh for this phase, turn, slot and name."""
        ...

    async def ask(
        self,
        role: str,
        messages: Sequence[ChatMessage],
        *,
        model: str | None = None,
        max_tokens: int = 512,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        tool_choice: str = "",
        params: Mapping[str, JSON] | None = None,
        agent: str = "",
        tag: str = "",
        fields: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> Answer:
        """Ask the model that plays ``role``; the only way to reach one.

        What the run spec says of the role's or model's parameters goes over what is asked for
        here. A model that has tools answers with text, with :attr:`Answer.tool_calls`, or both;
        ``answer.message`` and a message of role ``tool`` for each call go into the next request.

        Args:
            role: Whose model is asked, and whose parameters and caps hold.
            messages: The request.
            model: Another model than the role's.
            max_tokens: Most tokens of the text; room for reasoning that the spec asks for is added.
            temperature: Of the draw.
            schema: JSON Schema the answer should follow.
            tools: What the model may call.
            tool_choice: ``auto``, ``none``, ``required``, or the name of a tool.
            params: Further parameters, by litellm's names or those of a run spec.
            agent: The player or agent that asks, for ``calls``; empty for nobody in particular.
            tag: What it is asked for (rubric, assertion, stage), for ``calls``.
            fields: What an agent is told beside the request, such as a task's type: filled into the
                ``{name}`` of a service's body and headers, variables ``MATRIX_NAME`` of a command,
                ``turn.fields`` of a function. The same on resume, as it is no part of the record.
            fresh: Whether no answer will do that an earlier run bought (:attr:`Answer.cached`).

        Raises:
            CallFailed: The call ended in a final error; recorded, and the same on resume.
            SessionStop: The session must end (cap, interrupt); kinds let it pass.
        """
        ...

    @property
    def workspace(self) -> Path:
        """The session's working folder: the only place where a kind may keep files.

        It is part of every checkpoint, so what it holds is there again after any crash. Its path
        is another one in another run, and belongs in no prompt.

        Raises:
            FolderUnavailable: The kind does not declare that it needs one (:class:`UsesFolder`).
        """
        ...

    async def copy_folder(self, name: str, to: str = "") -> None:
        """Copy a folder that ``Kind.bind`` named into the working folder, over what is there.

        Args:
            name: Its name in ``Binding.folders``.
            to: Where in the working folder its content goes; made if it is not there.

        Raises:
            FolderUnavailable: The kind does not declare that it needs a folder.
            KeyError: No folder was named so.
            SessionStop: Something else is in the way: a file where a folder is to be, or a link.
        """
        ...

    async def changed_files(self) -> ChangedFiles:
        """What this turn has changed in the working folder up to now, by content.

        Regular files only, compared with the last checkpoint (the folder as ``start`` found it,
        before there is one). It is the same on resume.

        Raises:
            FolderUnavailable: The kind does not declare that it needs a folder.
            SessionStop: The folder cannot be kept (too large, strange files).
        """
        ...

    async def file_before(self, path: str) -> bytes | None:
        """A file of the working folder as the last checkpoint has it; ``None`` if it is not there.

        Raises:
            FolderUnavailable: The kind does not declare that it needs a folder.
        """
        ...

    async def effect(
        self, name: str, act: Callable[[], Awaitable[JSON]], *, arguments: JSON = None
    ) -> JSON:
        """Do something that acts on the world, and record its result with the folder it leaves.

        On resume the recorded result is given, and the folder is as the effect left it, without
        doing it again. An effect that was killed in the middle *is* done again, from the folder
        as it was before: everything is done at least once, and most things exactly once.
        It takes no time on the session's clock. With a working folder, effects are done one after
        another, never inside ``parallel``.

        Args:
            name: What is done; with ``arguments`` it is compared with the record on resume.
            act: Does it. Its result is JSON; an exception is recorded as well.
            arguments: What it depends on.

        Raises:
            CallFailed: ``act`` raised; recorded, and the same on resume.
            SessionStop: The folder it left cannot be kept (too large, strange files).
        """
        ...

    async def command(
        self,
        arguments: Sequence[str],
        *,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
    ) -> CommandResult:
        """Run a command in the working folder, as an :meth:`effect`.

        It gets no keys: of the environment only the paths of programs and the language are passed
        on, with ``environment``. Home and temporary files are in a folder that is not kept. What
        it leaves running is killed. A command that cannot be found ends with code 127.

        Args:
            arguments: Program and arguments.
            stdin: What it reads.
            environment: More variables.
            timeout_s: Wall time after which it is killed, in seconds.
        """
        ...

    async def metered(
        self,
        role: str,
        work: Callable[[MeteredAddress], Awaitable[JSON]],
        *,
        name: str,
        arguments: JSON = None,
        agent: str = "",
        stand_in: str = "",
    ) -> JSON:
        """Do something that asks models by itself, as an :meth:`effect`, and meter what it asks.

        While ``work`` goes on, an address on this machine takes requests in the shapes of OpenAI
        and Anthropic. Each is a call of this session in this role: held, limited, recorded and
        settled as any other, or refused in the provider's own words when the cap is reached. Where
        the work is done again after a crash, the same request (the n-th of its kind) is given the
        answer that it was given before.

        Args:
            role: Whose caps hold.
            work: What is to be done; is told the address.
            name: What is done; with ``arguments`` it is compared with the record on resume.
            arguments: What it depends on.
            agent: Who asks, for ``calls``.
            stand_in: A model that answers for every name, e.g. a simulated one for a rehearsal.

        Raises:
            CallFailed: ``work`` raised; recorded, and the same on resume.
            SessionStop: The run is ending; what was answered stays recorded.
        """
        ...

    async def parallel(self, children: Sequence[Callable[[Context], Awaitable[T]]]) -> list[T]:
        """Run children at once, each in a scope of its own; results in list order."""
        ...

    def event(
        self,
        kind: str,
        *,
        subject: str = "",
        detail: str = "",
        value: float | None = None,
        severity: str = "",
        turn: int | None = None,
        data: Mapping[str, JSON] | None = None,
    ) -> None:
        """Record something that happened in this turn, or is about an earlier one.

        ``detail`` is for people, ``data`` the same for programs.
        """
        ...

    def score(
        self,
        name: str,
        value: float | None,
        *,
        whole_session: bool = True,
        label: str = "",
        reason: str = "",
        judge_model: str = "",
        rubric_hash: str = "",
    ) -> None:
        """Record a named value; the one named ``score`` is the session's primary metric."""
        ...

    def player(self, player: Player) -> None:
        """Record a member of the group, for the ``players`` table."""
        ...

    def end(self, outcome: Outcome, reason: str) -> None:
        """Say that the session is over after this turn."""
        ...


class ForkContext(Protocol):
    """What a kind is given to carry a state over into a changed session; no model is asked."""

    @property
    def plan(self) -> SessionPlan:
        """The new session's plan, changes included."""
        ...

    @property
    def turn(self) -> int:
        """The turn that the state is of."""
        ...

    @property
    def log(self) -> MessageLog:
        """Everything said so far. What is added belongs to the new session only."""
        ...

    @property
    def prelude(self) -> JSON: ...

    def resource(self, name: str) -> JSON:
        """A text or data of the new session."""
        ...

    def player(self, player: Player) -> None:
        """Say anew who a member of the group is; the old row of that name goes."""
        ...
