"""One session for people: whatever models wrote, a terminal only ever shows it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.cli.printing import print_json
from matrix.model.lines import harmless_json
from matrix.model.records import Event, Message, Player
from matrix.report.session.transcript import session_as_data, session_as_text
from matrix.report.text import harmless, tokens, wrapped
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.transcript import Transcript, transcript
from tests.report.synthetic import Row, entries_of

DANGEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters other than tab and line feed, and what turns the direction of text."""

WILD = (
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b31m red",
    "over\rwritten",
    "\x00\x08\x7f",
    "\u202egnirts\u202c and \u2066isolated\u2069",
)


def session(
    folder: Path, *texts: str, speaker: str = "narrator", subject: str = "Ada"
) -> Transcript:
    row = Row({"prompt": "plain"}, scores={"score": 50.0, "fun": None})
    entries = entries_of(
        row,
        0,
        messages=[Message("table", speaker, text, 1, "pulse") for text in texts],
        events=[Event("tangent", 1, subject, f"of {text}") for text in texts],
        players=[Player(speaker, "joker", "sim/qwen", True, "calm")],
    )
    journal = JournalWriter(folder / JOURNAL_NAME)
    journal.append(entries)
    journal.close()
    reader = JournalReader(folder / JOURNAL_NAME)
    try:
        return transcript(reader, row.session_id)
    finally:
        reader.close()


def test_control_characters_and_bidi_overrides_are_neutralised(tmp_path: Path) -> None:
    text = session_as_text(session(tmp_path, *WILD, speaker="na\x1b[2Jrrator"))
    assert not DANGEROUS.search(text)
    assert "owned" in text
    assert "gnirts" in text, "the words themselves stay"


def test_data_is_whole_and_harmless_on_a_terminal_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_json(session_as_data(session(tmp_path, *WILD)))
    printed = capsys.readouterr().out
    assert not DANGEROUS.search(printed)
    assert [message["text"] for message in json.loads(printed)["messages"]] == list(WILD)


@given(st.text())
def test_harmless_text_differs_only_where_it_has_to(text: str) -> None:
    cleaned = harmless(text)
    assert len(cleaned) == len(text)
    assert not DANGEROUS.search(cleaned)
    assert all(new == old or DANGEROUS.match(old) for new, old in zip(cleaned, text, strict=True))


@given(st.text())
def test_harmless_json_reads_back_as_it_was(text: str) -> None:
    printed = harmless_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(printed) == text
    assert not DANGEROUS.search(printed)


@given(st.text(), st.text(max_size=30), st.integers(1, 200))
def test_wrapping_loses_no_word(text: str, start: str, width: int) -> None:
    assert wrapped(text, start, width=width).split()[len(start.split()) :] in (
        text.split(),
        (start + text).split()[len(start.split()) :],
    )


def test_a_very_long_text_is_shown_whole_and_soon(tmp_path: Path) -> None:
    words = "word " * 100_000
    began = time.process_time()
    text = session_as_text(session(tmp_path, words, "x" * 300_000), width=80)
    assert text.count("word") == 2 * 100_000  # the message, and the event that quotes it
    assert text.count("x") >= 2 * 300_000
    assert time.process_time() - began < 20
    assert max(len(line) for line in text.splitlines()) <= 80


def test_paragraphs_stay_apart_and_empty_texts_do_not_disturb(tmp_path: Path) -> None:
    text = session_as_text(session(tmp_path, "one\n\ntwo\n", ""))
    assert "narrator [pulse]: one\n    two\n" in text
    assert "\nnarrator [pulse]:\n" in text


def test_the_head_says_who_played_what_and_that_it_was_simulated(tmp_path: Path) -> None:
    text = session_as_text(session(tmp_path, "hello"), simulated="simulated")
    assert text.startswith("session a-plain-0\n  scenario  a (playtest), round 0\n")
    assert "used      1 call, $0.01, 1 min of model time (simulated)\n" in text
    assert "narrator *" in text
    assert "fun    missing" in text


def test_an_event_of_nobody_has_no_gap_for_a_name(tmp_path: Path) -> None:
    text = session_as_text(session(tmp_path, "hello", subject=""))
    assert "\n  * tangent: of hello\n" in text


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0"), (999, "999"), (1000, "1 k"), (36_120, "36 k"), (999_499, "999 k"),
     (999_500, "1.0 M"), (113_900_000, "113.9 M")],
)  # fmt: skip
def test_tokens_are_said_in_a_few_figures(count: int, said: str) -> None:
    assert tokens(count) == said
