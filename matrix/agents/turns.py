"""What an agent is asked, what it says, and how long it has worked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from matrix.agents.sandbox import Sandbox
from matrix.kinds.context import CommandResult
from matrix.model.money import NanoUSD
from matrix.model.records import JSON, ChatMessage, Usage


class Turn(NamedTuple):
    """One turn of an agent.

    Attributes:
        agent: Its name in the run spec.
        role: The role that it plays.
        session: Id of the session.
        turn: Number of the turn.
        seed: Seed of this turn: the same for every attempt, and on resume.
        prompt: The request as one text.
        messages: The request message by message.
        folder: The session's working folder, or an empty one that nobody keeps.
        environment: Variables by which clients of models find the metered address; none without.
        timeout_s: Longest working time, in seconds.
        fields: What the kind tells beside the request, by name.
    """

    agent: str
    role: str
    session: str
    turn: int
    seed: int
    prompt: str
    messages: tuple[ChatMessage, ...]
    folder: Path
    environment: Mapping[str, str]
    timeout_s: float
    fields: Mapping[str, str] = MappingProxyType({})


class Reply(NamedTuple):
    """What an agent of Python says.

    Attributes:
        text: Its words.
        cost_usd: What the turn cost; ``None`` if it cannot say: then all of its hold is spent.
        tokens_in: Tokens that it read.
        tokens_out: Tokens that it wrote.
        status: The state of its work, where its caller goes by one.
    """

    text: str
    cost_usd: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    status: str = ""


class AgentAnswer(NamedTuple):
    """An agent's answer as far as it can be read.

    Attributes:
        text: Its words.
        cost: What the turn cost by its own account; ``None`` if it says nothing of use.
        usage: Tokens by its own account.
        doubt: Why its account of the cost is not believed; empty if it is.
        conversation: Id under which a service goes on with this conversation.
        status: The state of its work, such as a job's; empty if it says none.
    """

    text: str
    cost: NanoUSD | None = None
    usage: Usage = Usage()
    doubt: str = ""
    conversation: str = ""
    status: str = ""


class Played(NamedTuple):
    """A turn that is over: what was said, how long it worked in seconds, and what a command did."""

    told: AgentAnswer
    worked_s: float
    command: CommandResult | None = None


class WorkPlace(Protocol):
    """Where an agent works."""

    @property
    def path(self) -> Path: ...

    async def command(
        self,
        arguments: Sequence[str],
        stdin: str,
        environment: Mapping[str, str],
        timeout_s: float,
        worked: WorkedFor | None = None,
        sandbox: Sandbox | None = None,
    ) -> CommandResult:
        """Run a command there; it does not outlive this call."""
        ...

    async def work_on(self, work: Callable[[Path], None]) -> None:
        """Do something to what is there, beside the loop; it does not outlive this call."""
        ...


class WorkedFor(Protocol):
    """Seconds that an agent has worked, by a clock that waits do not move."""

    def __call__(self) -> float: ...

    def begin(self) -> None:
        """It begins to work now: what its place took to be made ready does not count."""
        ...


class WallTime:
    """How long an agent has worked, where nothing of it is somebody else's time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` counts seconds of wall time."""
        self._clock, self._began = clock, clock()

    def __call__(self) -> float:
        return self._clock() - self._began

    def begin(self) -> None:
        """It begins to work now."""
        self._began = self._clock()


class WorkingTime:
    """How long an agent has worked: its own time, and the models' for its metered calls.

    What those calls waited for money, limits and retries does not count. Calls that overlap count
    as the longest of them, as calls side by side do everywhere.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` counts seconds of wall time."""
        self._clock, self._began = clock, clock()
        self._out, self._since = 0, 0.0
        self._busy_s = self._models_s = self._longest_s = 0.0

    def __call__(self) -> float:
        now = self._clock()
        busy = self._busy_s + (now - self._since if self._out else 0.0)
        return now - self._began - busy + self._models_s

    def begin(self) -> None:
        """It begins to work now; nothing is asked yet."""
        self._began = self._clock()

    @contextmanager
    def asking(self) -> Iterator[list[float]]:
        """A call is out for as long as the block lasts; its model's time goes into the list."""
        durations: list[float] = []
        if not self._out:
            self._since, self._longest_s = self._clock(), 0.0
        self._out += 1
        try:
            yield durations
        finally:
            self._longest_s = max([self._longest_s, *durations])
            self._out -= 1
            if not self._out:
                self._busy_s += self._clock() - self._since
                self._models_s += self._longest_s


def prompt_of(messages: Sequence[ChatMessage]) -> str:
    """A request as one text: a single message as it is, several under the names of who speaks."""
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if len(rest) == 1:
        return "\n\n".join([*system, rest[0].content])
    return "\n\n".join([*system, *(f"[{message.role}]\n{message.content}" for message in rest)])


def conversation_of(messages: Sequence[ChatMessage], agent: str) -> str:
    """The conversation that a request goes on with, if this agent has answered in it before."""
    for message in reversed(messages):
        if message.role == "assistant" and message.carry.startswith(f"{agent} "):
            return message.carry.removeprefix(f"{agent} ")
    return ""


def carried(agent: str, conversation: str) -> str:
    """What an answer carries, so that the next request finds its conversation again."""
    return f"{agent} {conversation}" if conversation else ""


def facts_of(played: Played, tree: str = "", changed_bytes: int = 0) -> dict[str, JSON]:
    """What a turn did to the world, for the ``effects`` table."""
    ran = played.command
    status = {"status": played.told.status} if played.told.status else {}
    return {
        **status,
        "code": None if ran is None else ran.code,
        "out_bytes": 0 if ran is None else ran.out_bytes,
        "err_bytes": 0 if ran is None else ran.err_bytes,
        "changed_bytes": changed_bytes,
        "tree": tree,
    }
