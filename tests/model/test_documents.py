"""Reading what people write: every mistake at once, each in its place, and nothing blows up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.model.documents.yaml_documents import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NODES,
    Document,
    PathKey,
    check,
    overlay,
    parse_document,
    show_path,
)
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.spec.run_spec import ModelSpec, RunSpec
from tests.sampling import examples

pytestmark = pytest.mark.usefixtures("flags")

KEYS = ", ".join(RunSpec.model_fields)


def mistakes_in(text: str, *overrides: tuple[PathKey, Any, str]) -> list[str]:
    """Every mistake of a spec, as the command line prints them."""
    with pytest.raises(BadInput) as caught:
        check(overlay(parse_document(text, "matrix.yaml"), overrides), RunSpec)
    return str(caught.value).splitlines()


def spec_of(text: str, *overrides: tuple[PathKey, Any, str]) -> RunSpec:
    return check(overlay(parse_document(text, "matrix.yaml"), overrides), RunSpec)


# --- a broken spec -------------------------------------------------------------------------------

BROKEN = """\
version: 2
nam: tavern
kind: ""
scenarios: shadow-bay
factors:
  prompt: [pulse-aware, [nested], pulse-aware]
  narrator: [sim/opus, sim/opus]
  group_size: 4
compare:
  factor: prompt
  confidence: 95
  margins: 2
sessions: 500
per_cell: 10
seed: -1
roles:
  narrator: 7
limits:
  cost_usd: 0
  turns: many
  open_sessons: 10
at_cap: never
models:
  mine:
    target: sim/opus
    price: {input: -1}
  str:
    group: xai
groups:
  int:
    rpm: .inf
    concurency: 4
simulation: fast
"""


def test_every_mistake_comes_at_once_with_its_line_path_value_and_remedy() -> None:
    assert mistakes_in(BROKEN) == [
        "matrix.yaml:1: version: found 2; should be 1",
        f"matrix.yaml:2: nam: unknown key; allowed: {KEYS}; did you mean 'name'?",
        "matrix.yaml:3: kind: found ''; string should have at least 1 character",
        "matrix.yaml:4: scenarios: found 'shadow-bay'; should be a list",
        "matrix.yaml:6: factors.prompt[1]: found ['nested']; should be a valid string or a valid "
        "integer or a valid number or a valid boolean",
        "matrix.yaml:7: factors.narrator: level 'sim/opus' is listed twice; each level once",
        "matrix.yaml:8: factors.group_size: found 4; should be a list",
        "matrix.yaml:11: compare.confidence: found 95; should be less than 1",
        "matrix.yaml:12: compare.margins: unknown key; allowed: factor, metric, confidence, "
        "margin, failure_margin, failure_icc, turn_limit, unit, engine, look_at_cap; "
        "did you mean 'margin'?",
        "matrix.yaml:14: per_cell: give sessions or per_cell, not both",
        "matrix.yaml:15: seed: found -1; should be greater than or equal to 0",
        "matrix.yaml:17: roles.narrator: found 7; should be a valid string",
        "matrix.yaml:19: limits.cost_usd: found 0; should be greater than 0",
        "matrix.yaml:20: limits.turns: found 'many'; should be a valid integer",
        "matrix.yaml:21: limits.open_sessons: unknown key; allowed: cost_usd, session_usd, "
        "role_usd, budget, turns, session_minutes, run_minutes, open_sessions, attempts; did you "
        "mean 'open_sessions'?",
        "matrix.yaml:22: at_cap: found 'never'; should be 'whole-rounds' or 'spend-all'",
        "matrix.yaml:26: models.mine.price.input: found -1; should be greater than or equal to 0",
        "matrix.yaml:26: models.mine.price.output: is required and missing",
        "matrix.yaml:27: models.str.target: is required and missing",
        "matrix.yaml:31: groups.int.rpm: found inf; should be a finite number",
        "matrix.yaml:32: groups.int.concurency: unknown key; allowed: rpm, tpm, itpm, otpm, "
        "burst_s, concurrency; did you mean 'concurrency'?",
        "matrix.yaml:33: simulation: found 'fast'; should be a mapping",
    ]


UNREADABLE = """\
name: &name tavern
sessions: 5
limits: &limits
  turns: 5
  turns: 6
options: *limits
kind: *name
scenarios: [a, *limits]
factors:
  ? [a, b]
  : [c]
  when: [2024-13-45, !!bool maybe, !!int ""]
  big: [123456789012345678901234567890]
  half: ["\\udc00"]
sessions: 6
<<: *limits
"""


def test_what_no_value_can_be_read_from_is_told_at_once_too() -> None:
    assert mistakes_in(UNREADABLE) == [
        "matrix.yaml:5: limits.turns: is given twice",
        "matrix.yaml:10: factors: a key on line 10 is not plain text",
        "matrix.yaml:12: factors.when[0]: found '2024-13-45'; cannot be read as timestamp: month "
        "must be in 1..12",
        "matrix.yaml:12: factors.when[1]: found 'maybe'; cannot be read as bool",
        "matrix.yaml:12: factors.when[2]: found ''; cannot be read as int",
        "matrix.yaml:13: factors.big[0]: found 123456789012345678901234567890; no number here may "
        "be beyond 64 bits",
        "matrix.yaml:14: factors.half[0]: found '\\udc00'; half of a surrogate pair is no text",
        "matrix.yaml:15: sessions: is given twice",
    ]


@pytest.mark.parametrize(
    "name", ["str", "int", "float", "bool", "constrained-str", "a[b]", "[key]"]
)
def test_a_key_may_be_called_like_a_type_and_keeps_its_place(name: str) -> None:
    key = json.dumps(name)
    assert mistakes_in(f"{key}: 1") == [f"matrix.yaml:1: {name}: unknown key; allowed: {KEYS}"]
    assert mistakes_in(f"factors:\n  {key}: 1") == [
        f"matrix.yaml:2: factors.{name}: found 1; should be a list"
    ]


@pytest.mark.parametrize("name", ["target", "price", "group", "mine"])
def test_a_model_called_like_a_field_is_offered_the_fields_of_models(name: str) -> None:
    assert mistakes_in(f"models:\n  {name}:\n    target: sim/opus\n    prise: 1") == [
        f"matrix.yaml:4: models.{name}.prise: unknown key; "
        f"allowed: {', '.join(ModelSpec.model_fields)}; did you mean 'price'?"
    ]


def test_levels_that_read_alike_in_tables_are_the_same_level() -> None:
    assert mistakes_in("factors: {asides: [true, 'true']}") == [
        "matrix.yaml:1: factors.asides: level 'true' is listed twice; each level once"
    ]


@pytest.mark.parametrize(
    "text", ["", "# nothing but a comment\n", "{}", "---\n", "\ufeffversion: 1"]
)
def test_an_empty_file_is_the_default_spec(text: str) -> None:
    assert spec_of(text) == RunSpec()


@pytest.mark.parametrize(
    ("text", "found"), [("- a\n- b", "['a', 'b']"), ("just words", "'just words'"), ("~", "None")]
)
def test_a_file_that_is_no_mapping_is_told_what_keys_it_takes(text: str, found: str) -> None:
    assert mistakes_in(text) == [
        f"matrix.yaml:1: found {found}; must be a mapping with the keys {KEYS}"
    ]


# --- not YAML, or not in reason ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("name: a\n\tkind: b", "2: not YAML: found character '\\t' that cannot start any token"),
        ("a: [1, 2", "1: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: b: c", "1: not YAML: mapping values are not allowed here"),
        ("a: 1\n--- \nb: 2", "2: not YAML: but found another document"),
        ("a: *nobody", "1: not YAML: found undefined alias 'nobody'"),
        ("a: 1\nb: x\x00y", "2: not YAML: the character '\\x00' is not allowed"),
        ("a: \ufffe", "1: not YAML: the character '\\ufffe' is not allowed"),
        ("a: caf\udce9", "1: not YAML: the character '\\udce9' is not allowed"),
        ('a: "\\U00110000"', " not YAML: an escape names a character that does not exist"),
        ('a: "\\UFFFFFFFF"', " not YAML: an escape names a character that does not exist"),
        ("[" * 100_000, f"1: nested deeper than {MAX_DEPTH} levels"),
        ("".join(" " * n + "b:\n" for n in range(300)), "100: nested deeper than 100 levels"),
        ("x" * (MAX_CHARACTERS + 1), " far too large for a YAML file here"),
        ("a: !!python/object/apply:os.getcwd []\nb: !!set x\nc: !secret x",
         "3: c: found 'x'; cannot be read as !secret"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_a_spec_is_one_mistake_in_its_line(text: str, mistake: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_document(text, "matrix.yaml")
    assert str(caught.value) == f"matrix.yaml:{mistake}"


@pytest.mark.slow
def test_more_values_than_in_any_honest_file_are_refused_while_reading() -> None:
    with pytest.raises(BadInput, match="far too large"):
        parse_document("[" + "x," * MAX_NODES + "]", "matrix.yaml")


def test_aliases_and_merge_keys_are_written_out() -> None:
    text = """\
base: &base {a: 1, b: &list [x, y]}
other: &other {b: 2, c: 3}
one: *base
two: {<<: *base, a: 5}
three: {<<: [*other, *base], d: *list}
four: {c: 9, <<: *other}
"""
    found = parse_document(text, "matrix.yaml")
    assert found.value == yaml.safe_load(text)
    assert found.lines["one",] == 3
    assert found.lines["two", "b"] == 4
    one, base = found.value["one"], found.value["base"]
    assert one is not base, "what goes over one leaves the other"
    assert one["b"] is not base["b"]


@pytest.mark.parametrize("merged", ["3", "[1, 2]", "[{a: 1}, 2]", "x"])
def test_a_merge_key_takes_mappings(merged: str) -> None:
    with pytest.raises(BadInput, match="<< takes mappings"):
        parse_document(f"a: {{<<: {merged}}}", "matrix.yaml")


def test_an_alias_bomb_is_one_line_and_never_written_out() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    with pytest.raises(BadInput) as caught:
        parse_document(bomb, "matrix.yaml")
    assert all("far too large, once *" in one.message for one in caught.value.mistakes)


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {<<: *a}}", "a: &a [&b [*a, *b]]"])
def test_a_list_inside_itself_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is inside of what it stands for"):
        parse_document(text, "matrix.yaml")


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cn", "Cs", "Zl", "Zp"]), max_size=8)
PLAIN = st.text(st.characters(categories=["L", "N", "S"]), max_size=4)
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(100))
@given(st.dictionaries(PLAIN, JSON_VALUES), st.booleans())
def test_json_reads_as_itself_with_the_line_of_every_value(
    value: dict[str, Any], escaped: bool
) -> None:
    def written_as(part: Any) -> str:
        return json.dumps(part, ensure_ascii=escaped)

    text = json.dumps(value, indent=1, ensure_ascii=escaped)
    document = parse_document(text, "x.json")
    assert document.value == value
    assert set(document.lines) == set(paths_in(value))
    written = text.split("\n")
    for path, line in document.lines.items():
        if path and isinstance(path[-1], str):
            assert written_as(path[-1]) in written[line - 1]


def paths_in(value: Any, path: PathKey = ()) -> list[PathKey]:
    inner: Sequence[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(p for key, item in inner for p in paths_in(item, (*path, key)))]


YAML_BITS = st.sampled_from(
    ["a", "b: ", "\n", "  ", "- ", "[", "]", "{", "}", ", ", "&x ", "*x", "!!int ", "!!bool ", "? ",
     "!!float ", "!!timestamp ", "!!binary ", "<<: ", "'", '"', "|\n", ">-\n", "#", "---\n",
     "%YAML ", "\t", "1", ".", "0x", "_", "~",
     "2024-01-01", "true", "\\u", "\x85", "\ud800", "é", "=", "@"]
)  # fmt: skip


@settings(max_examples=examples(500))
@given(st.lists(YAML_BITS, max_size=25).map("".join) | st.text(max_size=60))
def test_any_text_gives_plain_values_or_mistakes_of_one_line_each(text: str) -> None:
    try:
        document = parse_document(text, "any.yaml")
        json.dumps(document.value)
        check(document, RunSpec)
    except BadInput as error:
        assert error.mistakes  # noqa: PT017
        for mistake in error.mistakes:
            assert len(str(mistake).splitlines()) == 1
            assert str(mistake).isprintable() or not text.isprintable()


# --- overlays ------------------------------------------------------------------------------------

FILE = "sessions: 10\nlimits:\n  turns: 5\n  cost_usd: 1\n"


def test_later_overrides_win_and_the_file_stays_as_it_was() -> None:
    document = parse_document(FILE, "matrix.yaml")
    over = overlay(
        document,
        [
            (("limits", "turns"), 7, "MATRIX_MAX_TURNS"),
            (("limits", "turns"), 9, "--max-turns"),
            (("roles", "narrator"), "sim/opus", "--model narrator"),
        ],
    )
    spec = check(over, RunSpec)
    assert (spec.limits.turns, spec.limits.cost_usd, spec.roles) == (9, 1, {"narrator": "sim/opus"})
    assert document.value == {"sessions": 10, "limits": {"turns": 5, "cost_usd": 1}}
    assert check(document, RunSpec).limits.turns == 5


def test_a_mistake_is_told_of_the_flag_or_variable_it_came_from() -> None:
    assert mistakes_in(
        FILE,
        (("sessions",), "many", "MATRIX_SESSIONS"),
        (("limits", "cost_usd"), -3.0, "--max-cost"),
        (("limits", "tuns"), 4, "--set limits.tuns"),
        (("factors", "prompt"), ["a", None], "--set factors.prompt"),
    ) == [
        "--set factors.prompt: factors.prompt[1]: found None; should be a valid string or a valid "
        "integer or a valid number or a valid boolean",
        "MATRIX_SESSIONS: sessions: found 'many'; should be a valid integer",
        "--max-cost: limits.cost_usd: found -3.0; should be greater than 0",
        "--set limits.tuns: limits.tuns: unknown key; allowed: cost_usd, session_usd, role_usd, "
        "budget, turns, session_minutes, run_minutes, open_sessions, attempts; did you mean "
        "'turns'?",
    ]


def test_replacing_a_whole_section_takes_over_from_what_was_set_inside_it() -> None:
    assert mistakes_in(
        "name: tavern",
        (("limits", "turns"), 5, "MATRIX_MAX_TURNS"),
        (("limits",), {"turns": 0, "cost_usd": 0}, "--set limits"),
        (("limits", "cost_usd"), -1, "--max-cost"),
    ) == [
        "--max-cost: limits.cost_usd: found -1; should be greater than 0",
        "--set limits: limits.turns: found 0; should be greater than or equal to 1",
    ]


def test_nothing_is_put_inside_what_is_no_mapping() -> None:
    flag = (("limits", "turns"), 5, "--max-turns")
    cost = (("limits", "cost_usd"), 5, "--max-cost")
    assert mistakes_in("name: a\nlimits: 7", flag, cost) == [
        "matrix.yaml:2: limits: found 7; must be a mapping to take --max-turns"
    ]
    assert mistakes_in("[a, b]", flag, (("seed",), 1, "--seed")) == [
        "matrix.yaml:1: found ['a', 'b']; must be a mapping to take --max-turns"
    ]
    assert mistakes_in("name: a", (("limits",), [1], "--set limits"), flag) == [
        "--set limits: limits: found [1]; must be a mapping to take --max-turns"
    ]


def test_an_empty_section_takes_overrides() -> None:
    spec = spec_of("limits:\n", (("limits", "turns"), 5, "--max-turns"))
    assert spec.limits.turns == 5


def test_overrides_are_not_changed_by_later_ones() -> None:
    whole = {"turns": 5}
    overlay(
        parse_document("", "matrix.yaml"),
        [(("limits",), whole, "--set limits"), (("limits", "turns"), 9, "--max-turns")],
    )
    assert whole == {"turns": 5}


def test_a_part_of_a_document_is_checked_in_its_place() -> None:
    document = parse_document("name: x\noptions:\n  limits: {turns: 0}\n", "matrix.yaml")
    with pytest.raises(BadInput) as caught:
        check(document, RunSpec, ("options",))
    assert str(caught.value) == (
        "matrix.yaml:3: options.limits.turns: found 0; should be greater than or equal to 1"
    )
    assert check(document, RunSpec, ("simulation",)) == RunSpec()


# --- words ---------------------------------------------------------------------------------------


def test_a_mistake_without_a_line_of_its_own_is_placed_at_the_nearest_known_one() -> None:
    document = Document("f.yaml", {}, {(): 1, ("a",): 3}, {("b",): "--b"})
    assert document.mistake(("a", "x", 0), "m") == Mistake("f.yaml", 3, "a.x[0]", "m")
    assert document.mistake(("c",), "m") == Mistake("f.yaml", 1, "c", "m")
    assert document.mistake(("b", "deep"), "m") == Mistake("--b", None, "b.deep", "m")
    assert str(Mistake("f.yaml", None, "", "m")) == "f.yaml: m"


@given(st.lists(st.text() | st.integers(0, 99)))
def test_paths_read_as_people_write_them(path: list[str | int]) -> None:
    shown = show_path(path)
    for part in path:
        assert (f"[{part}]" if isinstance(part, int) else part) in shown
    assert show_path(("factors", "prompt", 1)) == "factors.prompt[1]"


def test_only_near_matches_are_offered() -> None:
    assert did_you_mean("promt", ["prompt", "narrator"]) == "; did you mean 'prompt'?"
    assert did_you_mean("zebra", ["prompt", "narrator"]) == ""


def test_long_values_are_cut_in_messages() -> None:
    (line,) = mistakes_in(f"sessions: [{'1, ' * 500}]")
    assert line.startswith("matrix.yaml:1: sessions: found [1, 1, 1")
    assert len(line) < 140


def test_a_spec_written_from_its_own_values_reads_the_same() -> None:
    spec = spec_of("factors: {prompt: [a, b], size: [3, 4.5, true]}\nlimits: {cost_usd: 2.5}")
    assert spec_of(yaml.safe_dump(spec.model_dump(mode="json"))) == spec
