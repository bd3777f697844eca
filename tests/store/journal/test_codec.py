"""Journal entries: what is written is read again, and damage is said to be damage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.entries import (
    Acted,
    Dropped,
    Ended,
    Entry,
    Held,
    Lent,
    Looked,
    Opened,
    RoleShare,
    Settled,
    Tally,
    TurnDone,
    session_of,
)
from matrix.model.errors import StoreError
from matrix.model.metrics import MOST_SCORE
from matrix.model.records import (
    OUTCOMES,
    Answer,
    CallKey,
    Event,
    Failure,
    Message,
    Player,
    Score,
    SessionPlan,
    Usage,
)
from matrix.store.journal.codec import ENDED, OPENED, SETTLED, decode, encode

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
COUNT = st.integers(0, 2**63 - 1)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.none() | st.floats(-MOST_SCORE, MOST_SCORE)
JSON_VALUE = st.recursive(
    st.none() | st.booleans() | COUNT | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.dictionaries(TEXT, TEXT, max_size=3)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT)
TALLY = st.builds(
    Tally,
    NUMBER,
    st.dictionaries(TEXT, st.builds(RoleShare, COUNT, COUNT, COUNT, COUNT), max_size=3),
)
OUTCOME = st.sampled_from(OUTCOMES)
KEY = st.builds(CallKey, TEXT, st.sampled_from(["start", "turn", "finish"]), COUNT, TEXT)
ANSWER = st.builds(
    Answer, TEXT, USAGE, COUNT, NUMBER, TEXT, TEXT, st.none() | st.builds(Failure, TEXT, TEXT)
)
PLAN = st.builds(
    SessionPlan,
    session_id=TEXT,
    part=st.sampled_from(["prelude", "play"]),
    order=COUNT,
    round=COUNT,
    seed=COUNT,
    scenario=TEXT,
    kind=TEXT,
    levels=NAMES,
    options=JSON_VALUE,
    roles=NAMES,
    resources=NAMES,
    prelude_id=st.none() | TEXT,
    max_turns=COUNT,
    max_session_s=NUMBER,
    parent_session_id=st.none() | TEXT,
    parent_turn=st.none() | COUNT,
)
SETTLED_ENTRY = st.builds(
    Settled,
    COUNT,
    KEY,
    COUNT,
    TEXT,
    TEXT,
    TEXT,
    COUNT,
    st.sampled_from(["settled", "released", "presumed", "cached"]),
    COUNT,
    USAGE,
    NUMBER,
    NUMBER,
    TEXT,
    st.none() | ANSWER,
    NUMBER,
    saved=COUNT,
    overrun=COUNT,
)
SCORE = st.builds(Score, TEXT, VALUE, st.none() | COUNT, TEXT, TEXT, TEXT, TEXT)
DATA = st.none() | st.dictionaries(TEXT, COUNT, max_size=3)
EVENT = st.builds(Event, TEXT, COUNT, TEXT, TEXT, st.none() | NUMBER, TEXT, DATA)


def several(item: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(item, max_size=3).map(tuple)


TURN = st.builds(
    TurnDone,
    session_id=TEXT,
    phase=st.sampled_from(["start", "turn", "finish"]),
    turn=COUNT,
    state=JSON_VALUE.map(orjson.dumps),
    messages=several(st.builds(Message, TEXT, TEXT, TEXT, COUNT, TEXT, st.none() | NUMBER)),
    events=several(EVENT),
    scores=several(SCORE),
    players=several(st.builds(Player, TEXT, TEXT, TEXT, st.booleans(), TEXT)),
    tally=TALLY,
    ended=st.none() | st.tuples(OUTCOME, TEXT),
    versions=st.tuples(COUNT, COUNT),
    at=NUMBER,
    tree=TEXT,
)
ENTRY: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Opened, PLAN, NUMBER),
    st.builds(Held, COUNT, KEY, COUNT, TEXT, TEXT, COUNT, TEXT, NUMBER, COUNT),
    SETTLED_ENTRY,
    TURN,
    st.builds(
        Ended,
        TEXT,
        OUTCOME,
        TEXT,
        TEXT,
        COUNT,
        VALUE,
        TALLY,
        NUMBER,
        JSON_VALUE,
        VALUE,
    ),
    st.builds(
        Looked,
        COUNT,
        TEXT,
        several(st.builds(Dropped, TEXT, TEXT, COUNT)),
        TEXT,
        st.none() | COUNT,
        NUMBER,
    ),
    st.builds(Lent, KEY, TEXT, ANSWER, COUNT),
    st.builds(
        Acted,
        KEY,
        TEXT,
        TEXT,
        JSON_VALUE,
        st.none() | st.builds(Failure, TEXT, TEXT),
        TEXT,
        NUMBER,
        NUMBER,
        COUNT,
    ),
)


@given(entry=ENTRY)
def test_every_entry_is_read_as_it_was_written(entry: Entry) -> None:
    kind, body = encode(entry)
    assert decode(kind, session_of(entry), body) == entry


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e160, -1e300])
def test_a_score_that_earlier_versions_took_and_no_mean_can_have_is_none(value: float) -> None:
    scores = (Score("right", value), Score("short", 1.0))
    turn = TurnDone("s", "turn", 1, b"{}", (), (), scores, (), Tally(), None, (1, 1), 0.0)
    end = Ended("s", "completed", "", "", 1, value, Tally(), 0.0, None, value)
    kept = (Score("right", None), Score("short", 1.0))
    assert decode(*_written(turn)) == replace(turn, scores=kept)
    assert decode(*_written(end)) == replace(end, score=None, measured=None)


def _written(entry: Entry) -> tuple[int, str, bytes]:
    kind, body = encode(entry)
    return kind, session_of(entry), body


@given(entry=ENTRY, data=st.data())
def test_a_truncated_entry_is_reported_as_damage(entry: Entry, data: st.DataObject) -> None:
    kind, body = encode(entry)
    length = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(StoreError, match="damaged"):
        decode(kind, "s", body[:length])


def test_an_unknown_kind_of_entry_is_reported() -> None:
    with pytest.raises(StoreError, match="unknown kind 99"):
        decode(99, "s", b"")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (OPENED, []),
        (SETTLED, {}),
        (ENDED, []),
        (ENDED, {"outcome": "splendid"}),
        (SETTLED, [1, ["", "turn", "one", "0"], 1]),
    ],
)
def test_an_entry_of_another_shape_is_reported_as_damage(kind: int, value: object) -> None:
    with pytest.raises(StoreError, match="damaged"):
        decode(kind, "s", msgspec.msgpack.encode(value))


def test_fields_that_an_entry_has_got_since_have_their_defaults_in_older_ones() -> None:
    kind, body = encode(
        Held(7, CallKey("s", "turn", 1, "0"), 1, "judge", "m", 5, "w", 0.5, bound=9)
    )
    older = msgspec.msgpack.encode(msgspec.msgpack.decode(body)[:8])
    entry = decode(kind, "s", older)
    assert isinstance(entry, Held)
    assert (entry.hold_id, entry.bound) == (7, 0)
