"""Errors of this project, named by the boundary they cross.

Each message names the thing, the value found, what is allowed and the remedy. The exit code
that a command line should end with belongs to the class, so that no command decides it anew.

* :class:`BadInput` — what the user wrote (spec, pack, archetype, flags); collects all mistakes.
* :class:`KindUnusable` — a kind that is not installed, or that is none.
* :class:`StoreError` — the results folder, the journal, Parquet.
* :class:`ProviderError` — one attempt of one model call; says whether trying again can help and
  whether money may have been spent.
* :class:`SessionStop` — ends one session, never the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from matrix.model.lines import in_line
from matrix.model.wording import told

if TYPE_CHECKING:
    from matrix.model.records import Usage


class MatrixError(Exception):
    """Base of everything this project raises on purpose."""

    exit_code: ClassVar[int] = 1

    @property
    def with_flags(self) -> str:
        """The message as it was written, for records and for the command line."""
        return super().__str__()


class CutShort(MatrixError):
    """A run was ended from outside, before its plan; what was acknowledged is in its journal."""

    exit_code = 4


class Interrupted(CutShort):
    """The user stopped a run at once."""


class ProtocolError(MatrixError):
    """A message between processes that makes no sense in this state; a defect of the sender."""


# --- what the user wrote -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in the user's input, as one line of output.

    Attributes:
        source: File name, flag or environment variable the value came from.
        line: 1-based line in ``source``, where there is one.
        path: Path of the field, e.g. ``factors.prompt[1]``.
        message: What was found and what is allowed, in one sentence.
    """

    source: str
    line: int | None
    path: str
    message: str

    def __str__(self) -> str:
        return told(self.with_flags)

    @property
    def with_flags(self) -> str:
        """The line as the command line has it."""
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return in_line(": ".join(part for part in (place, self.path, self.message) if part))


class _ForUsers(MatrixError):
    """What is wrong with what a user said, in the words of the interface that it was said by."""

    def __str__(self) -> str:
        return told(self.with_flags)


class BadInput(_ForUsers):
    """Everything wrong with the user's input, all at once; nothing has been started.

    Mistakes are sorted by file and line, those in flags and variables come first as they were
    given, and each is told once.
    """

    exit_code = 2

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        found = dict.fromkeys(mistakes)
        self.mistakes: tuple[Mistake, ...] = tuple(sorted(found, key=_place))
        super().__init__("\n".join(mistake.with_flags for mistake in self.mistakes))


def _place(mistake: Mistake) -> tuple[str, int]:
    given = mistake.source.startswith(("-", "MATRIX_", "matrix "))
    return ("", 0) if given else (mistake.source, mistake.line or 0)


class KindUnusable(_ForUsers):
    """No kind of this name is installed, or the one that is cannot be used; nothing was started."""

    exit_code = 2


def did_you_mean(found: str, allowed: Sequence[str]) -> str:
    """A hint for a near match, e.g. ``; did you mean 'prompt'?``, or the empty string."""
    near = near_matches(found, allowed)
    return f"; did you mean '{near[0]}'?" if near else ""


def near_matches(found: str, allowed: Sequence[str]) -> list[str]:
    """The one of ``allowed`` that ``found`` may be meant for, if any is near enough."""
    return get_close_matches(found, allowed, n=1, cutoff=0.6)


# --- the results folder --------------------------------------------------------------------------


class StoreError(_ForUsers):
    """The results folder, the journal or a Parquet table cannot be used."""


class RunExists(StoreError):
    """A run of this id is already there; runs are never overwritten."""

    exit_code = 2


class RunNotFound(StoreError):
    """No run of this id (or near it) is in the results folder."""

    exit_code = 2


class RunLocked(StoreError):
    """Another process holds the journal: the run is still alive."""


class AlreadyRunning(RunLocked):
    """A run of this name is alive, and a second one would be in its way; nothing was started."""

    exit_code = 2


class StateMismatch(StoreError):
    """Sessions were left by another version of their kind than the one that is installed."""

    exit_code = 2


class FencedOff(StoreError):
    """A newer governor has taken the journal over; this one must not write any more."""


class JournalFull(StoreError):
    """The disk (or a quota) refused a journal write; nothing unacknowledged was acted on."""


class ContentUnreadable(StoreError):
    """A session's files, or what they are made of, cannot be read where they are kept."""


class BlobsRefused(StoreError):
    """The disk (or a quota) refused a session's files: the run fails, and can be resumed."""


# --- one attempt of one model call ---------------------------------------------------------------


class ProviderError(MatrixError):
    """A model call did not give a usable answer.

    Attributes:
        retryable: Whether a new attempt may succeed.
        unsent: True only when the request provably cost nothing (never sent, or refused with
            a 4xx), so that its hold may be released rather than presumed spent.
        retry_after_s: Seconds the provider asked to wait, where it said so.
        usage: What it billed all the same, where it said so: the attempt is then settled at that.
        written: What the model had written by then, where that is known.
    """

    retryable: ClassVar[bool] = False
    unsent: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        written: str | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.usage = usage
        self.written = written


class RateLimited(ProviderError):
    """429: the provider's own limit was hit; the whole limit group pauses."""

    retryable = True
    unsent = True


class ProviderUnavailable(ProviderError):
    """5xx, 529, connection refused or reset: try again after a pause."""

    retryable = True


class Unreachable(ProviderUnavailable):
    """No connection was made, so nothing was sent and nothing can be billed."""

    unsent = True


class ProviderTimeout(ProviderError):
    """No answer in time; it may still be billed, so its hold is presumed spent."""

    retryable = True


class MalformedAnswer(ProviderError):
    """An answer that is cut off, empty or not what the protocol promises."""

    retryable = True


class ContentRefused(ProviderError):
    """The provider's content policy refused the request, which some bill all the same (Azure)."""


class ContextOverflow(ProviderError):
    """The messages do not fit the model's context window."""

    unsent = True


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong or not allowed to use this model."""

    unsent = True


class RequestRejected(ProviderError):
    """Any other 4xx: the request itself is wrong."""

    unsent = True


class AgentFailed(ProviderError):
    """The agent under test gave no usable answer: that is its own failure, and no trouble of ours.

    ``cost`` is what it says the turn cost all the same, in nano-dollars; ``None`` if it does not.
    """

    def __init__(self, message: str, *, cost: int | None = None) -> None:
        super().__init__(message)
        self.cost = cost


class AgentTimedOut(AgentFailed):
    """The agent under test worked for longer than it may; it was ended."""


class AgentMissing(ProviderError):
    """The agent's program or function is not there, so nothing was begun."""

    unsent = True


FAILED_BY_ITSELF = frozenset({AgentFailed.__name__, AgentTimedOut.__name__})
"""Errors of calls that are failures of the system under test."""


# --- one session ---------------------------------------------------------------------------------


class SessionStop(MatrixError):
    """Ends one session; the engine turns it into a row, never into a missing row."""


class Censored(SessionStop):
    """The session was cut short by the cap or an interrupt: it says nothing about the variant."""

    @property
    def word(self) -> str:
        """What it is counted by: whatever stands before the first colon of the message."""
        return str(self).partition(":")[0]


class SessionCapReached(SessionStop):
    """The session has used up its own cap: like the limit of turns, a property of the session."""


class Suspended(SessionStop):
    """The run is draining: the session stays open in the journal and can be resumed."""


class CallFailed(SessionStop):
    """A call ended in a final error after its retries; the session is ``errored``.

    ``role`` is who was asked; empty for what is no question to anybody.
    """

    def __init__(self, error_class: str, message: str, role: str = "") -> None:
        super().__init__(message)
        self.error_class, self.role = error_class, role


class KindDefect(SessionStop):
    """A kind raised an exception of its own: a defect of its code, not of what surrounds it.

    The message is the exception in one line, and under it the traceback from the kind's code on.
    """


class DigestMismatch(SessionStop):
    """A recorded answer belongs to another request: code or prompts changed under the session."""


class UndeclaredConcurrency(SessionStop):
    """A kind asked two models at once outside ``ctx.parallel``, so slots would depend on timing."""


class FolderRefused(SessionStop):
    """A session's working folder cannot be a checkpoint: too large, or no plain files."""


class FolderUnavailable(SessionStop):
    """A session can have no working folder here, or somebody else is still using it."""
