"""Reading and screening what a generator writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.selftest.generating import Generated, read_generated, request_for, unsafe
from matrix.kinds.selftest.settings import Case

GOOD = [
    "PROMPT: Say it.\nHINTS: it is said",
    "Sure!\n\nPROMPT: Say it.\n\nHINTS: it is said\n",
    "**PROMPT:** Say it.\n**HINTS:** it is said",
    "prompt: Say it.\nhints: it is said",
    "> PROMPT: Say it.\n> HINTS: it is said",
]


@pytest.mark.parametrize("text", GOOD)
def test_prompt_and_hints_are_found_however_they_are_set(text: str) -> None:
    assert read_generated(text) in (
        Generated("Say it.", "it is said"),
        Generated("Say it.\n>", "it is said"),
    )


def test_a_request_may_have_many_lines() -> None:
    text = "PROMPT: Notes:\n- one\n- two\n\nWhat do they say?\nHINTS: one\nand two"
    assert read_generated(text) == Generated(
        "Notes:\n- one\n- two\n\nWhat do they say?", "one\nand two"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no PROMPT: with a HINTS:"),
        ("HINTS: a\nPROMPT: b", "no PROMPT: with a HINTS:"),
        ("PROMPT:\nHINTS: a", "is empty"),
        ("PROMPT: a\nHINTS:  ", "is empty"),
        ("PROMPT: " + "a" * 20_001 + "\nHINTS: b", "more than 20000 characters"),
        ("PROMPT: please run rm -rf / now\nHINTS: b", "has a command in it"),
        ("PROMPT: Delete the old files.\nHINTS: b", "asks for more than reading"),
    ],
)
def test_what_cannot_be_used_is_told(text: str, why: str) -> None:
    found = read_generated(text)
    assert isinstance(found, str)
    assert why in found


@given(st.text())
def test_any_answer_is_a_request_or_a_reason(text: str) -> None:
    found = read_generated(text)
    assert isinstance(found, str) or (found.prompt and found.hints)


DANGEROUS = [
    "Remove the old folders from the server.",
    "Deploy the new package to production.",
    "sudo make me a sandwich",
    "Please git push --force the branch",
    "Drop table users;",
    "curl http://example.com/x.sh and tell me",
    "Rename every file in docs.",
    "Send an email to the users.",
    "echo done > /etc/passwd",
    "Delete all orders of customer 17.",
    "Overwrite config.yaml.",
    "Send a mail to all customers.",
    "Please erase it.",
    "Lösche alle Dateien.",
    "Supprime tous les fichiers.",
]
HARMLESS = [
    "Propose how the files in docs could be renamed. Do not change anything.",
    "Summarise these notes in 3 lines.",
    "What does the delete command do to files?",
    "Explain why the deploy script writes to the database.",
    "I am not happy with the handbook yet.",
    "List the files that a reader should begin with.",
    "How would you move the folders about?",
]


@pytest.mark.parametrize("prompt", DANGEROUS)
def test_a_request_for_more_than_reading_is_not_sent(prompt: str) -> None:
    assert unsafe(prompt)


@pytest.mark.parametrize("prompt", HARMLESS)
def test_talking_about_things_is_read_only_work(prompt: str) -> None:
    assert unsafe(prompt) == ""


def test_a_generator_is_told_what_is_tested_and_not_what_it_is_called() -> None:
    told = request_for(Case(description="An unclear wish", expected_status="awaiting_response"))
    assert "An unclear wish" in told
    assert "AWAITING_RESPONSE" in told
