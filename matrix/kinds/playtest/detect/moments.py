"""Private moments and whether they pay off.

A moment leaves behind the few words that set it apart from everything said at the table so far and
from the names in the guide, which would come up anyway. A later output for all that uses enough of
them, or says the secret in so many words, is taken as its payoff: rough, but it finds the locket
that comes up again and needs no model. A moment that has neither such words nor enough of any
cannot be followed, and counts in no share of those that paid off.

How a moment was placed is told by words as well: whether it takes up who the player is, whether it
belongs to the story, and whether it came when the story had room for it.

A secret that the narrator reads out to the whole table as the story goes on is a payoff: now all
know what one of them knew. It is spoiled where the story made nothing of it: read out at once, or
in passing (an answer, a recap), while its player keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from matrix.kinds.context import MessageLog
from matrix.kinds.playtest.detect.asides import Aside, heard
from matrix.kinds.playtest.detect.history import NARRATOR, TABLE, private_channel
from matrix.kinds.playtest.detect.reading import HeardOutput, bare, word_set, words_of
from matrix.kinds.playtest.detect.relaying import carried
from matrix.kinds.playtest.setup.guide import parse_guide
from matrix.kinds.playtest.setup.state import MomentBook, PlaytestState, Secret

KEPT_WORDS: Final = 6
KEPT_OPEN: Final = 20
WORDS_TO_PAY: Final = 2
"""Distinctive words that a later output must use; one with fewer is followed by its wording."""

SHORTEST: Final = 5
TOLD: Final = "told"
"""Label of what the others are told of a private moment: its content, in the narrator's words."""

KEPT_SECRETS: Final = 20
READ_OUT: Final = 6
"""Words in a row that a secret and an output for all share, so that it was read out."""

ENOUGH: Final = 2
"""Words that a private text shares with a person, or the story, so that it is about them."""

_PREFIX: Final = 5
"""Letters by which words are taken for relatives (grandmother, grandparents)."""

REST: Final = 2
"""Turns after a moment before talk of it counts: the answer to the aside itself is no payoff."""

_COMMON: Final = word_set(
    "about above after again against almost alone already although always another anybody anything "
    "around because before behind being below beneath beside between beyond cannot close could "
    "different doing during either enough every everybody everything exactly first found further "
    "having herself himself inside itself maybe might moment myself never nobody notice nothing "
    "other others ought perhaps quite rather really seems should since somebody someone something "
    "still their themselves there these thing things think those though through together towards "
    "under until where whether which while whose without words would years yourself yourselves "
    "answer answers tonight turns looks speaks tells asks knows wants whisper whispers secret"
)


def distinctive_words(text: str, familiar: Iterable[str]) -> tuple[str, ...]:
    """The longest words of a private text that are not ``familiar``; ties by alphabet."""
    known = {bare(word) for line in familiar for word in words_of(line)}
    own = {word for word in map(bare, words_of(text)) if len(word) >= SHORTEST} - _COMMON - known
    return tuple(sorted(own, key=lambda word: (-len(word), word))[:KEPT_WORDS])


def guide_names(markdown: str) -> list[str]:
    """Names of the guide's places, people and devices."""
    guide = parse_guide(markdown)
    return [item.name for items in (guide.places, guide.people, guide.devices) for item in items]


class Placing(NamedTuple):
    """How a private moment was placed, each from 0 to 1.

    Attributes:
        alignment: It takes up the player's backstory, character or own words.
        appropriateness: It belongs to the story: the guide, or what the narrator just told.
        timing: It came while the group was in the story, after a first pulse, and not on the heels
            of another one for the same player; a third for each.
    """

    alignment: float
    appropriateness: float
    timing: float


UNPLACED: Final = Placing(0.0, 0.0, 0.0)


def placing_of(
    state: PlaytestState, aside: Aside, turn: int, log: MessageLog, guide: str, public: str
) -> Placing:
    """How a moment is placed in the session before it; ``public`` is what all hear beside it."""
    words, story = carried(heard(aside.text)), carried_whole(guide)
    person = _person(state, aside.target, log)
    last = next(
        islice((m.text for m in reversed(log.channel(TABLE)) if m.speaker == NARRATOR), 1), ""
    )
    before = [m.turn for m in log.channel(private_channel(aside.target)) if m.speaker == NARRATOR]
    fits = (
        not state.tangents.since,
        state.pulses > 0,
        not before or turn - before[-1] > REST,
    )
    return Placing(
        _about(words - story, person - story),
        _about(words, story | carried(last) | carried(public)),
        sum(fits) / len(fits),
    )


@lru_cache(maxsize=64)
def carried_whole(guide: str) -> frozenset[str]:
    """The words of a whole guide that carry meaning."""
    return frozenset[str]().union(*map(carried, guide.splitlines()))


def _person(state: PlaytestState, name: str, log: MessageLog) -> frozenset[str]:
    """Words of who a player is: as they were cast, and as they said before the story."""
    seat = state.seat_of(name)
    sheet = "" if seat is None else log[seat.persona].text
    told = sheet.partition("## Who you are\n")[2].partition("\n\n## ")[0]
    words = carried(told)
    for message in log.channel(TABLE):
        if message.turn:
            break
        if message.speaker == name:
            words |= carried(message.text)
    return words - carried(name)


def _about(words: frozenset[str], other: frozenset[str]) -> float:
    """How much one text is about another: 1 from :data:`ENOUGH` shared words on."""
    long = {word[:_PREFIX] for word in other if len(word) >= _PREFIX}
    shared = sum(1 for word in words if word in other or word[:_PREFIX] in long)
    return min(1.0, shared / ENOUGH)


@lru_cache(maxsize=1024)
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = words_of(text)
    return frozenset(zip(*(words[start:] for start in range(READ_OUT)), strict=False))


def is_read_out(secret: str, public: str) -> bool:
    """Whether an output for all says a secret in so many words."""
    return not _runs(heard(secret)).isdisjoint(_runs(public))


def _read_out_now(turn: int, name: str, public: str, log: MessageLog) -> bool:
    """Whether an output for all says what a player was told alone, and all had not heard before."""
    said = _runs(public)
    secret = [
        message
        for message in log.channel(private_channel(name))
        if message.turn == turn and message.speaker == NARRATOR
    ]
    told = frozenset[tuple[str, ...]]().union(*(_runs(heard(one.text)) & said for one in secret))
    for message in log.channel(TABLE) if told else ():
        if message.turn <= turn and message.label != TOLD:
            told -= _runs(message.text)
    return bool(told)


def find_spoiled(
    book: MomentBook, public: str, turn: int, log: MessageLog, *, story: bool
) -> tuple[MomentBook, tuple[tuple[int, str], ...]]:
    """Secrets that their players keep, and that an output gives away: turn and player.

    Args:
        book: The book before it.
        public: What all hear of it.
        turn: Its turn.
        log: What was said before.
        story: It tells the story on; what it reads out then is a payoff, from :data:`REST` on.
    """
    out = [one for one in book.kept if _read_out_now(*one, public, log)]
    if not out:
        return book, ()
    lost = tuple((at, name) for at, name in out if not story or turn - at < REST)
    kept = tuple(one for one in book.kept if one not in out)
    still = tuple(one for one in book.open if (one.turn, one.target) not in lost)
    update = {"kept": kept, "open": still, "spoiled": book.spoiled + len(lost)}
    return book.model_copy(update=update), lost


def note_reply(book: MomentBook, turn: int, name: str, *, told: bool, spoiled: bool) -> MomentBook:
    """Take note of what a player does with a moment, and whether it was read out with it."""
    if told:
        return book.model_copy(update={"told": book.told + 1})
    if spoiled:
        still = tuple(one for one in book.open if (one.turn, one.target) != (turn, name))
        return book.model_copy(update={"spoiled": book.spoiled + 1, "open": still})
    return book.model_copy(update={"kept": (*book.kept, (turn, name))[-KEPT_SECRETS:]})


def open_moment(
    book: MomentBook,
    aside: Aside,
    turn: int,
    familiar: Iterable[str],
    placing: Placing = UNPLACED,
) -> MomentBook:
    """Take note of a private moment."""
    words = distinctive_words(heard(aside.text), familiar)
    secret = Secret(turn=turn, target=aside.target, words=words)
    followed = len(words) >= WORDS_TO_PAY or bool(_runs(heard(aside.text)))
    kept = (*book.open, secret)[-KEPT_OPEN:] if followed else book.open
    sums = {
        name: round(getattr(book, name) + value, 6) for name, value in placing._asdict().items()
    }
    counts = {"count": book.count + 1, "followed": book.followed + followed}
    return book.model_copy(update={**counts, "open": kept, **sums})


def find_payoffs(
    book: MomentBook, public: HeardOutput, turn: int, log: MessageLog
) -> tuple[MomentBook, tuple[tuple[Secret, tuple[str, ...]], ...]]:
    """Open moments that an output for the whole table takes up, each with the words that did it.

    There are none of one that is read out, and has too few words that set it apart.
    """
    paid: list[tuple[Secret, tuple[str, ...]]] = []
    said = {bare(word) for word in public.vocabulary}
    for secret in book.open:
        if turn - secret.turn < REST:
            continue
        met = tuple(word for word in secret.words if word in said)
        if len(met) >= WORDS_TO_PAY:
            paid.append((secret, met))
        elif _read_out_now(secret.turn, secret.target, public.spoken, log):
            paid.append((secret, ()))
    if not paid:
        return book, ()
    settled = {id(secret) for secret, _ in paid}
    still = tuple(secret for secret in book.open if id(secret) not in settled)
    return book.model_copy(update={"paid": book.paid + len(paid), "open": still}), tuple(paid)
