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
from typing import Final

from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.setup import ModelEntry, RunSetup
from matrix.model.entries import Opened, Settled
from matrix.model.errors import StoreError
from matrix.model.records import Answer, Call
from matrix.model.request_digest import content_of
from matrix.model.seeds import content_hash, derive_seed
from matrix.model.spec.judges import JUDGES
from matrix.store.journal.codec import OPENED, SETTLED
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.run.run_folder import read_run
from matrix.store.shared.answers import ANSWERS_NAME, AnswerFile, require_own
from matrix.telemetry.log import Log

_KEY_DIGITS: Final = 64
_AT_ONCE: Final = 5_000
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
            found = self._answers.find(call_identity(call, entry))
            return found or self._answers.find(place_identity(call.seed, entry))
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
        if prepared.plan.judged_again:
            lend_judgements(prepared, run_dir.resolve(), path)
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


def place_identity(seed: int, entry: ModelEntry) -> str:
    """The same by the call's seed alone, which is made of its request and its place.

    So answers are found that only a journal has, where requests are kept as hashes.
    """
    return content_hash(
        ["journal", [entry.provider, entry.target, entry.api_base], seed], length=_KEY_DIGITS
    )


def lend_judgements(prepared: Prepared, run_dir: Path, path: Path) -> None:
    """Keep what the run whose sessions are judged again has paid for at their ends.

    That is judging, and what else is asked when a session is over, such as a survey.

    Raises:
        StoreError: The file of answers cannot be used.
    """
    branched = read_run(run_dir).branched
    parent = run_dir.parent / branched.run_id / JOURNAL_NAME if branched is not None else None
    if parent is None or not parent.is_file():
        return
    judging = {role.name for role in prepared.kind.roles if role.judges} | {JUDGES}
    journal = JournalReader(parent)
    try:
        seeds, waiting, answers = dict[str, int](), 0, AnswerFile(path)
        for row in journal.rows(0, journal.last_seq(), kinds=(OPENED, SETTLED)):
            entry = row.entry
            if isinstance(entry, Opened):
                seeds[entry.plan.session_id] = entry.plan.seed
            if not isinstance(entry, Settled) or entry.saved:
                continue
            model, answer, key = prepared.models.get(entry.model), entry.answer, entry.key
            if entry.role not in judging and key.phase != "finish":
                continue
            if model is None or answer is None or answer.effect or not worth_keeping(answer):
                continue
            if model.facts.simulated or key.session_id not in seeds:
                continue
            place = (key.phase, key.turn, key.slot, content_of(entry.digest))
            seed = derive_seed("call", seeds[key.session_id], *place)
            answers.keep(place_identity(seed, model), answer)
            waiting += 1
            if waiting % _AT_ONCE == 0:  # written, before more are lent than can wait
                answers.close()
                answers = AnswerFile(path)
        answers.close()
    finally:
        journal.close()


def worth_keeping(answer: Answer) -> bool:
    """Whether an answer may be given again: no failure, whole, and with a usage to price it by."""
    whole = answer.failure is None and answer.finish_reason in _WHOLE
    return whole and answer.usage.input > 0
