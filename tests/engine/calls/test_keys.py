"""Where keys are looked for and what is said when they are missing; never any part of a key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.tariffs import Tariff
from matrix.engine.prepare.keys import (
    env_variables,
    key_needs,
    key_remedy,
    left_out,
    open_to_others,
    sendings,
    supply,
    variables,
)
from matrix.engine.wire.providers import LITELLM, SIMULATED
from matrix.engine.wire.setup import ModelEntry
from matrix.model.errors import BadInput

FREE = Tariff.from_usd_per_mtok(0, 0)


def entry(target: str, api_base: str | None = None, key: str | None = None) -> ModelEntry:
    return ModelEntry(LITELLM, target, FREE, "g", api_base, key)


def need_of(model: ModelEntry, **environment: str) -> tuple[tuple[str, ...] | None, bool]:
    (need,) = key_needs({"m": model}, environment)
    return need.names, need.missing


def test_a_provider_needs_its_usual_variable() -> None:
    model = entry("anthropic/claude-opus-4-5")
    assert need_of(model) == (("ANTHROPIC_API_KEY",), True)
    assert need_of(model, ANTHROPIC_API_KEY="k") == (("ANTHROPIC_API_KEY",), False)
    assert need_of(model, ANTHROPIC_API_KEY="") == (("ANTHROPIC_API_KEY",), True)
    assert need_of(entry("gpt-4o")) == (("OPENAI_API_KEY",), True), "known by the price list"


def test_any_of_several_variables_will_do_and_all_are_named_when_none_is_set() -> None:
    model = entry("gemini/gemini-2.5-pro")
    assert not need_of(model, GOOGLE_API_KEY="k")[1]
    (need,) = key_needs({"m": model}, {})
    assert key_remedy(need, Path(".env")) == (
        "set GEMINI_API_KEY (or GOOGLE_API_KEY) in the environment or in .env"
    )


def test_the_specs_own_variable_goes_before_the_usual_one() -> None:
    model = entry("openai/x", "http://127.0.0.1:1/v1", "MY_KEY")
    assert need_of(model, OPENAI_API_KEY="k") == (("MY_KEY",), True)


def test_an_address_of_ones_own_without_a_variable_is_sent_no_key() -> None:
    assert need_of(entry("openai/x", "http://127.0.0.1:1/v1")) == ((), False)


def test_nothing_is_claimed_of_a_provider_that_nobody_knows() -> None:
    assert need_of(entry("unheard-of/x")) == (None, False)


def test_simulated_models_need_none() -> None:
    assert key_needs({"m": ModelEntry(SIMULATED, "opus", FREE, "g")}, {}) == ()


# --- the file -------------------------------------------------------------------------------------


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A_KEY=file\nB_KEY='two words'\n# C=comment\nexport D_TOKEN=x$y${A}\n")
    assert variables(path, {"A_KEY": "environment"}) == {
        "A_KEY": "environment", "B_KEY": "two words", "D_TOKEN": "x$y${A}",
    }  # fmt: skip
    environment = {"A_KEY": "environment"}
    supply(path, environment)
    assert environment == variables(path, {"A_KEY": "environment"})


@pytest.mark.parametrize(
    "name",
    ["OPENAI_BASE_URL", "ANTHROPIC_API_BASE", "HTTPS_PROXY", "SSL_CERT_FILE", "PATH", "PYTHONPATH",
     "LITELLM_MODEL_COST_MAP_URL", "RAY_ADDRESS"],
)  # fmt: skip
def test_no_file_says_where_keys_go_or_by_which_way(tmp_path: Path, name: str) -> None:
    path, environment = tmp_path / ".env", dict[str, str]()
    path.write_text(f"{name}=http://theirs.example\nOPENAI_API_KEY=sk-x\nMINE=y\n")
    supply(path, environment, ["MINE"])
    assert environment == {"OPENAI_API_KEY": "sk-x", "MINE": "y"}
    assert left_out(path, {}, ["MINE"]) == [name]
    assert left_out(path, {name: "mine"}, ["MINE"]) == []


def test_every_key_that_goes_elsewhere_than_to_its_provider_is_told() -> None:
    models = {
        "usual": entry("openai/gpt-x"),
        "named": entry("openai/gpt-x", key="OPENAI_API_KEY"),
        "keyless": entry("openai/own", api_base="http://mine.example"),
        "theirs": entry("openai/own", api_base="http://a.example", key="OPENAI_API_KEY"),
        "other": entry("openai/gpt-x", key="GITHUB_TOKEN"),
    }
    assert sendings(models) == [
        "sends the key in OPENAI_API_KEY to http://a.example (theirs)",
        "sends the key in GITHUB_TOKEN to openai (other)",
    ]
    redirected = sendings({"usual": models["usual"]}, {"OPENAI_BASE_URL": "http://b.example"})
    assert redirected == ["sends the key in OPENAI_API_KEY to http://b.example (usual)"]


def test_a_file_that_is_not_there_adds_nothing(tmp_path: Path) -> None:
    assert variables(tmp_path / ".env", {"A": "1"}) == {"A": "1"}
    assert not open_to_others(tmp_path / ".env")


def test_every_malformed_line_is_named_and_none_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\n\nsk-secret is my key\nB=2\n\n\nOPENAI_API_KEY\n=sk-other\n")
    with pytest.raises(BadInput) as raised:
        env_variables(path)
    assert [mistake.line for mistake in raised.value.mistakes] == [3, 7, 8]
    assert {mistake.source for mistake in raised.value.mistakes} == {str(path)}
    assert "sk-" not in str(raised.value)


def test_a_file_that_is_no_text_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"A=\xff\xfe\n")
    with pytest.raises(BadInput, match="not UTF-8"):
        env_variables(path)


@pytest.mark.parametrize(("mode", "others"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_file_that_others_may_read_is_noticed(tmp_path: Path, mode: int, others: bool) -> None:
    path = tmp_path / ".env"
    path.touch()
    path.chmod(mode)
    assert open_to_others(path) is others


NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True)
PLAIN = st.text(st.characters(codec="ascii", exclude_characters="'\\\r\n\0", min_codepoint=32))


@pytest.mark.slow
@given(st.dictionaries(NAMES, PLAIN), st.dictionaries(NAMES, PLAIN))
def test_what_is_written_in_quotes_is_read_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, requested: dict[str, str], outside: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("env") / ".env"
    path.write_text("".join(f"{name}='{value}'\n" for name, value in requested.items()))
    assert env_variables(path) == requested
    assert variables(path, outside) == requested | outside
