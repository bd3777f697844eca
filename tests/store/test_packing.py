"""Packed bodies: what goes in comes out, short texts get shorter, and damage is told."""

from __future__ import annotations

import hashlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.entries import Disposition
from matrix.model.records import PHASES, Phase
from matrix.store.attempt_bodies import DISPOSITIONS
from matrix.store.packing import Packer, Unpacker
from matrix.store.word_book import WORD_BOOK

VALUE = st.one_of(
    st.tuples(st.just("whole"), st.integers(-(2**100), 2**100)),
    st.tuples(st.just("real"), st.floats(allow_nan=False)),
    st.tuples(st.just("text"), st.text(st.characters(codec="utf-8"))),
    st.tuples(st.just("hexadecimal"), st.text("0123456789abcdefA ")),
)


def pack(values: list[tuple[str, object]]) -> bytes:
    packer = Packer()
    for kind, value in values:
        getattr(packer, kind)(value)
    return packer.packed()


@given(values=st.lists(VALUE, max_size=12))
def test_values_come_out_as_they_went_in(values: list[tuple[str, object]]) -> None:
    found = Unpacker(pack(values))
    assert [getattr(found, kind)() for kind, _ in values] == [value for _, value in values]
    found.done()


@given(values=st.lists(VALUE, min_size=1, max_size=6))
def test_a_body_with_something_left_over_is_damaged(values: list[tuple[str, object]]) -> None:
    found = Unpacker(pack(values))
    with pytest.raises(ValueError, match="longer"):
        found.done()


def test_a_sentence_takes_two_thirds_of_its_length() -> None:
    said = "I don't like this house. That's all. I'll go where you go, and then we look around."
    assert len(pack([("text", said)])) < len(said) * 2 / 3


def test_the_word_book_is_the_one_that_journals_were_written_with() -> None:
    """Edited, it would make every journal of version 2 unreadable."""
    assert hashlib.sha256(WORD_BOOK).hexdigest()[:16] == "b0bb47967c52e745"


def test_every_disposition_and_phase_has_a_place() -> None:
    assert set(DISPOSITIONS) == set(get_args(Disposition))
    assert set(PHASES) == set(get_args(Phase))
