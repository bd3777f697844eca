"""Journal bodies of attempts: holds and settlements, most entries of a journal by far.

They are fields in a fixed order (:mod:`matrix.store.packing`), and an answer says only where it
differs from its settlement. Whatever is damaged raises one of the errors that
:func:`matrix.store.codec.decode` turns into a ``StoreError``.
"""

from __future__ import annotations

from typing import Final

from matrix.model.entries import Disposition, Held, Settled
from matrix.model.records import PHASES, Answer, CallKey, Failure, Usage
from matrix.store.packing import Packer, Unpacker

DISPOSITIONS: Final[tuple[Disposition, ...]] = ("settled", "released", "presumed", "cached")
"""Written as their places in these lists: only ever added to at the end."""

_STOP: Final = "stop"
_HAS_ANSWER, _OTHER_USAGE, _OTHER_COST, _OTHER_MODEL, _OTHER_FINISH, _FAILED, _EXTRAS = (
    1 << place for place in range(7)
)
"""What a settlement says beyond the usual, where an answer repeats its settlement."""


def held_out(body: Packer, entry: Held) -> None:
    """A hold."""
    body.whole(entry.hold_id)
    key_out(body, entry.key)
    body.whole(entry.attempt)
    body.text(entry.role)
    body.text(entry.model)
    body.whole(entry.amount)
    body.text(entry.owner)
    body.real(entry.at)
    if entry.bound:  # seldom, and unknown to the first journals of this version
        body.whole(entry.bound)


def held_in(body: Unpacker, session_id: str) -> Held:
    """A hold, read again."""
    return Held(
        body.whole(),
        key_in(body, session_id),
        body.whole(),
        body.text(),
        body.text(),
        body.whole(),
        body.text(),
        body.real(),
        body.whole() if body.more else 0,
    )


def settled_out(body: Packer, entry: Settled) -> None:
    """A settlement, with its answer if it has one."""
    answer = entry.answer
    flags = 0 if answer is None else _answer_flags(entry, answer)
    flags |= _EXTRAS if entry.saved or entry.overrun else 0
    body.whole(flags)
    body.whole(entry.hold_id)
    key_out(body, entry.key)
    body.whole(entry.attempt)
    body.text(entry.role)
    body.text(entry.model)
    parts = entry.digest.split(".")
    body.whole(len(parts))
    for part in parts:
        body.hexadecimal(part)
    body.whole(entry.held)
    body.whole(DISPOSITIONS.index(entry.disposition))
    body.whole(entry.cost)
    _usage_out(body, entry.usage)
    body.real(entry.waited_s)
    body.real(entry.took_s)
    body.text(entry.error_class)
    body.real(entry.at)
    if flags & _EXTRAS:
        body.whole(entry.saved)
        body.whole(entry.overrun)
    if answer is not None:
        _answer_out(body, answer, flags)


def settled_in(body: Unpacker, session_id: str) -> Settled:
    """A settlement, read again."""
    flags, hold_id, key = body.whole(), body.whole(), key_in(body, session_id)
    attempt, role, model = body.whole(), body.text(), body.text()
    digest = ".".join(body.hexadecimal() for _ in range(body.whole()))
    held, disposition, cost = body.whole(), DISPOSITIONS[body.whole()], body.whole()
    usage = _usage_in(body)
    waited_s, took_s, error_class, at = body.real(), body.real(), body.text(), body.real()
    saved, overrun = (body.whole(), body.whole()) if flags & _EXTRAS else (0, 0)
    answer = _answer_in(body, flags, usage, cost, model) if flags & _HAS_ANSWER else None
    return Settled(
        hold_id, key, attempt, role, model, digest, held, disposition, cost, usage,
        waited_s, took_s, error_class, answer, at, saved, overrun,
    )  # fmt: skip


def _answer_flags(entry: Settled, answer: Answer) -> int:
    return (
        _HAS_ANSWER
        | (answer.usage != entry.usage and _OTHER_USAGE)
        | (answer.cost != entry.cost and _OTHER_COST)
        | (answer.model != entry.model and _OTHER_MODEL)
        | (answer.finish_reason != _STOP and _OTHER_FINISH)
        | (answer.failure is not None and _FAILED)
    )


def _answer_out(body: Packer, answer: Answer, flags: int) -> None:
    body.text(answer.text)
    body.real(answer.duration_s)
    if flags & _OTHER_USAGE:
        _usage_out(body, answer.usage)
    if flags & _OTHER_COST:
        body.whole(answer.cost)
    if flags & _OTHER_MODEL:
        body.text(answer.model)
    if flags & _OTHER_FINISH:
        body.text(answer.finish_reason)
    if answer.failure is not None:
        body.text(answer.failure.error_class)
        body.text(answer.failure.message)


def _answer_in(body: Unpacker, flags: int, usage: Usage, cost: int, model: str) -> Answer:
    text, duration_s = body.text(), body.real()
    return Answer(
        text,
        _usage_in(body) if flags & _OTHER_USAGE else usage,
        body.whole() if flags & _OTHER_COST else cost,
        duration_s,
        body.text() if flags & _OTHER_MODEL else model,
        body.text() if flags & _OTHER_FINISH else _STOP,
        Failure(body.text(), body.text()) if flags & _FAILED else None,
    )


def key_out(body: Packer, key: CallKey) -> None:
    """The key of a call, without its session."""
    body.whole(PHASES.index(key.phase))
    body.whole(key.turn)
    body.text(key.slot)


def key_in(body: Unpacker, session_id: str) -> CallKey:
    """The key of a call of this session."""
    return CallKey(session_id, PHASES[body.whole()], body.whole(), body.text())


def _usage_out(body: Packer, usage: Usage) -> None:
    for count in usage:
        body.whole(count)


def _usage_in(body: Unpacker) -> Usage:
    return Usage(*(body.whole() for _ in Usage._fields))
