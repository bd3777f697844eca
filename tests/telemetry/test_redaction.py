"""Secrets: known ones never pass, look-alikes do not either, ordinary words do."""

from __future__ import annotations

import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.telemetry.redaction import (
    LONGEST_TEXT,
    NOTHING_KNOWN,
    Redactor,
    secrets_in,
)
from matrix.telemetry.spellings import REMOVED, spellings

SECRET = st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=8)


@given(SECRET, st.text(max_size=200), st.text(max_size=200))
def test_a_known_secret_never_passes(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    for clean in (redactor.text, redactor.values):
        cleaned = clean(before + secret + after)
        # what is left may only have arisen from text around what was taken out
        assert secret not in cleaned or secret in (before + REMOVED + after)


@given(st.text(max_size=300))
def test_what_models_say_is_left_alone_where_no_secret_is_known(text: str) -> None:
    assert Redactor().values(text) == text


@pytest.mark.parametrize("text", ["the secret token: swordfish", "bearer of bad news", "sk-learns"])
def test_a_story_may_speak_of_secrets(text: str) -> None:
    assert Redactor(["quince-marmalade"]).values(text) == text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "a-key-1"),
        ("HF_TOKEN", "some-token"),
        ("AWS_SECRET_ACCESS_KEY", "abc/def+ghi"),
        ("DB_PASSWORD", "swordfish"),
        ("API_KEY_2", "second-key"),
        ("lower_case_token", "some-token"),
    ],
)
def test_variables_that_are_named_like_secrets_hold_secrets(name: str, value: str) -> None:
    assert secrets_in({name: value}) == {value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/local/bin"),
        ("RAY_AUTH_TOKEN_PATH", "/home/user/token"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/user/key.json"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("TOKENIZERS_PARALLELISM", "disabled-for-now"),
        ("USE_TOKEN", "true"),
        ("MONKEY", "banana-banana"),
        ("SOME_API_KEY", "none"),
    ],
)
def test_other_variables_do_not(name: str, value: str) -> None:
    assert secrets_in({name: value}) == frozenset()


def test_a_variable_that_is_said_to_hold_a_key_does_whatever_its_name() -> None:
    assert secrets_in({"STORYTELLER": "/quince"}, ["STORYTELLER", "ABSENT"]) == {"/quince"}


def test_headers_for_a_collector_are_secret_value_by_value() -> None:
    headers = "x-team=a-long-team-name,Authorization=Bearer%20quince-84"
    found = secrets_in({"OTEL_EXPORTER_OTLP_HEADERS": headers})
    assert {"a-long-team-name", "Bearer quince-84", "quince-84"} <= found
    assert not any("x-team" in secret for secret in found)


def test_a_secret_is_known_as_json_and_urls_write_it() -> None:
    redactor = Redactor(["a/quince+84="])
    for text in ("a\\/quince+84=", "a%2Fquince%2B84%3D", "a/quince%2B84%3D"):
        assert redactor.values(f"<{text}>") == f"<{REMOVED}>"


@pytest.mark.parametrize("form", list(spellings("sk-canary/of+84=")))
def test_a_secret_is_known_however_it_is_spelled_and_broken(form: str) -> None:
    redactor = Redactor(["sk-canary/of+84="])
    for said in (form, "\n".join(form[at : at + 6] for at in range(0, len(form), 6))):
        assert redactor.values(f"it is {said}, no?") == f"it is {REMOVED}, no?"


def test_passwords_in_addresses_are_taken_out() -> None:
    cleaned = Redactor().text("cannot reach http://me:swordfish@proxy:8080/v1")
    assert cleaned == f"cannot reach http://{REMOVED}@proxy:8080/v1"


def test_values_are_cleaned_all_the_way_down_and_stay_json() -> None:
    value = {"a": ["x quince-84 y", {"b": ("quince-84", 1, None, True)}], "n": 1.5}
    cleaned = Redactor(["quince-84"]).value(value)
    assert orjson.loads(orjson.dumps(cleaned)) == {
        "a": [f"x {REMOVED} y", {"b": [REMOVED, 1, None, True]}],
        "n": 1.5,
    }


@pytest.mark.slow
def test_an_answer_of_megabytes_in_an_error_is_cut_and_known_secrets_are_out_of_all_of_it() -> None:
    long = "7" * 5_000_000
    redacted = Redactor(["sesame-open"]).text(f"cannot read sesame-open {long} sesame-open")
    assert len(redacted) <= LONGEST_TEXT
    assert "sesame" not in redacted


@pytest.mark.parametrize(
    "piece", ["7", "a-", "eyJ-", 'api_key="', "a://", "sk-", "bearer ", "api key = ", "a/"]
)
def test_looking_for_secrets_takes_time_in_proportion_to_the_text(piece: str) -> None:
    """Four times the text in four times the time; a pattern that backtracks takes sixteen."""

    def seconds(size: int) -> float:
        text, took = (piece * size)[:size], []
        for _ in range(5):
            began = time.process_time()
            NOTHING_KNOWN.text(text)
            took.append(time.process_time() - began)
        return min(took)

    assert seconds(LONGEST_TEXT) < 10 * max(seconds(LONGEST_TEXT // 4), 1e-3)
