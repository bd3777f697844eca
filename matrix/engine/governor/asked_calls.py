"""Who asks for which call of an open session, and who is told what.

A call is asked for by any number of processes and answered once; whoever asks later is told what
is known. Nothing here knows money or rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from matrix.engine.governor.books import CallBook, Outbox, SessionBook
from matrix.engine.governor.pending_requests import PendingRequests, Repeated
from matrix.engine.governor.refusals import BEHIND, DRAINING, PARKED
from matrix.engine.wire.messages import Acquire, Recorded, Refuse, Refused, Settle, Supply
from matrix.model.records import Answer, CallKey


class AskedCalls:
    """The calls in the ``books`` of open sessions, and the letters to their askers."""

    def __init__(self, books: Mapping[str, SessionBook], out: Outbox) -> None:
        self._books, self._out = books, out
        self._pending_requests = PendingRequests()

    def find(self, key: CallKey) -> CallBook | None:
        """What is known of a call, if its session is open and it was asked for."""
        book = self._books.get(key.session_id)
        return book.calls.get(key) if book is not None else None

    def expect(self, session_ids: Iterable[str]) -> None:
        """Sessions that an earlier governor had open: their calls wait until they are rejoined."""
        self._pending_requests.expect(session_ids)

    def found(self, session_id: str) -> list[tuple[str, Repeated]]:
        """A session is open: what was asked for it before is to be asked again."""
        return self._pending_requests.found(session_id)

    def ask(self, peer: str, message: Acquire | Supply) -> CallBook | None:
        """The book of a call that has no answer yet; the asker is told, or will be."""
        book = self._books.get(message.key.session_id)
        if book is None:
            if not self._pending_requests.keep(peer, message):
                self._out.tell(peer, Refused(message.key, "draining", DRAINING))
            return None
        if not book.is_newer(message.key.phase, message.key.turn):
            self._out.tell(peer, Refused(message.key, "draining", BEHIND))
            return None
        call = book.calls.get(message.key)
        if call is None:
            call = book.calls[message.key] = CallBook(message.digest)
        if call.answer is not None:
            self._out.tell(peer, Recorded(message.key, call.digest, call.answer))
            return None
        call.digest = call.digest or message.digest
        if peer not in call.askers:
            call.askers.append(peer)
        return call

    def settled(self, peer: str, message: Settle) -> bool:
        """An attempt is over: if it has an answer, its process is told, and whoever asked.

        Returns:
            Whether this answered a call of an open session.
        """
        call = self.find(message.key)
        if call is not None:
            call.hold_id = None
        if message.answer is None:
            return False
        if call is None:
            self._out.tell(peer, Recorded(message.key, message.digest, message.answer))
            return False
        if peer not in call.askers:
            call.askers.append(peer)
        call.digest = call.digest or message.digest
        self.answer(message.key, call, message.answer)
        return True

    def settled_before(self, peer: str, message: Settle) -> None:
        """The same message came twice; who waits for the answer may not have been told."""
        if message.answer is None:
            return
        call = self.find(message.key)
        if call is None:
            self._pending_requests.keep(peer, message)
        elif call.answer is not None:
            self._out.tell(peer, Recorded(message.key, call.digest, call.answer))
        elif message.is_account_error:
            self.park(peer, message)

    def park(self, peer: str, message: Settle) -> None:
        """An account was refused, and not this call: its process is to ask for it again."""
        self._out.tell(peer, Refused(message.key, "parked", PARKED))

    def answer(self, key: CallKey, call: CallBook, answer: Answer) -> None:
        """A call has its answer; everybody who asked is told once it is on the disk."""
        call.answer, call.asked, call.owner = answer, None, None
        for peer in call.askers:
            self._out.tell(peer, Recorded(key, call.digest, answer))
        call.askers = []

    def refuse(self, key: CallKey, call: CallBook, why: Refuse, reason: str) -> None:
        """Nobody gets an attempt at a call."""
        call.queued, call.asked, call.owner = False, None, None
        for peer in call.askers:
            self._out.tell(peer, Refused(key, why, reason))
        call.askers = []

    def drain(self) -> None:
        """Refuse whatever waits for a session that is not there."""
        for peer, message in self._pending_requests.give_up():
            self._out.tell(peer, Refused(message.key, "draining", DRAINING))

    def queued(self) -> Iterator[tuple[CallKey, CallBook]]:
        """Calls that wait at the gate."""
        for book in self._books.values():
            for key, call in book.calls.items():
                if call.queued:
                    yield key, call

    def fail_over(self, peer: str) -> Iterator[tuple[str, Acquire, CallBook]]:
        """A process is dead, and asks for nothing any more.

        Gives its own calls that others wait for, with the first of these, who takes over.
        """
        self._pending_requests.forget(peer)
        for book in self._books.values():
            for call in book.calls.values():
                if peer in call.askers:
                    call.askers.remove(peer)
                if call.owner != peer:
                    continue
                call.owner, call.queued = None, False
                if call.askers and call.asked is not None:
                    yield call.askers[0], call.asked, call
