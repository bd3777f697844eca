"""The response cache: which answers may stand in for a call, and one warning when it fails.

An answer is kept under everything that it depends on: the model and its address, the messages and
parameters, and the call's seed, which carries the round and the call's place in the session. So a
call is answered by the same call of an earlier run and never by a repeat of it: another round,
another turn or slot, and another seed of the run are other keys. Variants of one round that ask
the very same at the very same place share the answer, as they share everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matrix.engine.wire.setup import ModelEntry, RunSetup
from matrix.model.errors import StoreError
from matrix.model.records import Answer, Call
from matrix.model.seeds import content_hash
from matrix.store.shared.answers import ANSWERS_NAME, AnswerFile, require_own
from matrix.telemetry.log import Log

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared

_KEY_DIGITS: Final = 64
_WHOLE: Final = ("stop", "tool_calls")
"""Why a model stops when its answer is whole; any other reason says that it was cut off."""


class CallCache:
    """Answers of earlier runs for one provider host. After the first trouble it knows nothing."""

    def __init__(self, answers: AnswerFile, log: Log) -> None:
        self._answers, self._log = answers, log
        self._on = True

    def find(self, call: Call, entry: ModelEntry) -> Answer | None:
        """The answer to this very call, with what it cost when it was bought."""
        if not self._serves(call, entry):
            return None
        try:
            return self._answers.find(call_identity(call, entry))
        except StoreError as error:
            self._give_up(error)
            return None

    def keep(self, call: Call, entry: ModelEntry, answer: Answer) -> None:
        """Remember an answer if it is whole."""
        if not (self._serves(call, entry) and worth_keeping(answer)):
            return
        try:
            self._answers.keep(call_identity(call, entry), answer)
        except StoreError as error:
            self._give_up(error)

    def _serves(self, call: Call, entry: ModelEntry) -> bool:
        """Whether answers to such a call are kept: real ones, to requests in our own words."""
        return self._on and not entry.facts.simulated and call.raw is None

    def close(self) -> None:
        """Write what is waiting to be written; blocks as long as that takes."""
        self._answers.close()

    def _give_up(self, error: StoreError) -> None:
        self._on = False
        self._log.warning("cache.off", reason=str(error))


def open_cache(setup: RunSetup, log: Log) -> CallCache | None:
    """The run's cache, if it has one that this process can use."""
    if setup.answers is None:
        return None
    try:
        return CallCache(AnswerFile(Path(setup.answers)), log)
    except StoreError as error:
        log.warning("cache.off", reason=str(error))
        return None


def shared_answers(prepared: Prepared, run_dir: Path, note: Callable[[str], None]) -> str | None:
    """The file of answers that this run shares with those beside it, if it wants that.

    Opened once before the run starts, so that a file which cannot be used is one note, and so
    that it is there when several processes open it at once.
    """
    if not prepared.spec.cache or prepared.play_money:
        return None
    path = run_dir.resolve().parent / ANSWERS_NAME
    try:
        AnswerFile(path).close()
        require_own(path)
    except StoreError as error:
        note(str(error))
        return None
    return str(path)


def call_identity(call: Call, entry: ModelEntry) -> str:
    """Content hash of everything that an answer depends on."""
    return content_hash(
        [
            [entry.provider, entry.target, entry.api_base],
            call.seed,
            [message.parts for message in call.messages],
            call.params.parts,
        ],
        length=_KEY_DIGITS,
    )


def worth_keeping(answer: Answer) -> bool:
    """Whether an answer may be given again: no failure, whole, and with a usage to price it by."""
    whole = answer.failure is None and answer.finish_reason in _WHOLE
    return whole and answer.usage.input > 0
