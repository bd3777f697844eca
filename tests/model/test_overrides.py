"""What goes over a spec: variables, --set, --model, flags, lowest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.documents.overrides import (
    FLAGS,
    Override,
    from_environment,
    from_flags,
    from_models,
    from_settings,
)
from matrix.model.documents.yaml_documents import PathKey, check, overlay, parse_document
from matrix.model.errors import BadInput
from matrix.model.spec.run_spec import RunSpec

pytestmark = pytest.mark.usefixtures("flags")

GOOD: Mapping[str, Sequence[Any]] = {
    "name": ["file", "variable", "setting", "flag"],
    "sessions": [1, 2, 3, 4],
    "per_cell": [1, 2, 3, 4],
    "seed": [1, 2, 3, 4],
    "max_cost": [1.5, 2.5, 3.5, 4.5],
    "budget": ["a=1/day", "b=2/week", "c=3/month", "d=4/hour"],
    "max_turns": [1, 2, 3, 4],
    "time_limit": [1.5, 2.5, 3.5, 4.5],
    "open_sessions": [1, 2, 3, 4],
    "cache": [False, True, False, True],
    "stop_early": ["never", "when-decided", "never", "when-decided"],
    "at_cap": ["whole-rounds", "spend-all", "whole-rounds", "spend-all"],
}
"""Flag -> a value for the file, the variable, --set and the flag."""


def spec_of(text: str, *layers: list[Override]) -> RunSpec:
    overrides = [override for layer in layers for override in layer]
    return check(overlay(parse_document(text, "matrix.yaml"), overrides), RunSpec)


def mistakes_of(text: str, *layers: list[Override]) -> list[str]:
    with pytest.raises(BadInput) as caught:
        spec_of(text, *layers)
    return str(caught.value).splitlines()


def value_at(spec: RunSpec, path: PathKey) -> Any:
    value: Any = spec
    for part in path:
        value = getattr(value, str(part))
    return value


def yaml_of(path: PathKey, value: Any) -> str:
    return "".join(f"{'  ' * depth}{part}:\n" for depth, part in enumerate(path))[:-1] + f" {value}"


# --- precedence ----------------------------------------------------------------------------------


def test_every_flag_is_covered_here() -> None:
    assert set(GOOD) == set(FLAGS)


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_beat_settings_beat_variables_beat_the_file(flag: str) -> None:
    path = FLAGS[flag]
    of_file, of_variable, of_setting, of_flag = GOOD[flag]
    dotted = ".".join(map(str, path))
    file = yaml_of(path, of_file)
    variable = from_environment({f"MATRIX_{flag.upper()}": str(of_variable)})
    setting = from_settings([f"{dotted}={of_setting}"])
    given_flag = from_flags({flag: of_flag})
    assert value_at(spec_of(file), path) == of_file
    assert value_at(spec_of(file, variable), path) == of_variable
    assert value_at(spec_of(file, variable, setting), path) == of_setting
    assert value_at(spec_of(file, variable, setting, given_flag), path) == of_flag


@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_and_its_variable_say_their_name_when_they_are_wrong(flag: str) -> None:
    path = ".".join(map(str, FLAGS[flag]))
    dashed, variable = "--" + flag.replace("_", "-"), f"MATRIX_{flag.upper()}"
    (of_flag,) = mistakes_of("", from_flags({flag: "?"}))
    (of_variable,) = mistakes_of("", from_environment({variable: "?"}))
    assert of_flag.startswith(f"{dashed}: {path}: found '?'")
    assert of_variable == of_flag.replace(dashed, variable, 1)


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_and_its_variable_set_the_same_field_to_the_same_value(flag: str) -> None:
    value = GOOD[flag][3]
    by_flag = spec_of("", from_flags({flag: value}))
    by_variable = spec_of("", from_environment({f"MATRIX_{flag.upper()}": str(value)}))
    assert by_flag == by_variable != RunSpec()


def test_a_variable_is_text_and_never_read_as_something_else() -> None:
    assert spec_of("", from_environment({"MATRIX_NAME": "2024"})).name == "2024"
    assert spec_of("", from_environment({"MATRIX_NAME": "on"})).name == "on"
    assert mistakes_of("", from_environment({"MATRIX_SESSIONS": "[1, 2]"})) == [
        "MATRIX_SESSIONS: sessions: found '[1, 2]'; should be a valid integer"
    ]


def test_what_is_not_given_or_empty_sets_nothing() -> None:
    assert from_flags(dict.fromkeys(FLAGS)) == []
    assert from_environment({f"MATRIX_{flag.upper()}": "" for flag in FLAGS}) == []
    assert from_environment({"MATRIX_SESSIONSS": "5", "SESSIONS": "5", "MATRIX_RESULTS": "x"}) == []
    assert from_flags({"results": "x", "quiet": True}) == []


def test_the_environment_is_that_of_the_process_unless_one_is_handed_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MATRIX_SEED", "77")
    assert (("seed",), "77", "MATRIX_SEED") in from_environment()
    assert from_environment({}) == []


# --- sessions and per_cell -----------------------------------------------------------------------

LAYERS = {
    "variable": lambda name, n: from_environment({f"MATRIX_{name.upper()}": str(n)}),
    "setting": lambda name, n: from_settings([f"{name}={n}"]),
    "flag": lambda name, n: from_flags({name: n}),
}


@pytest.mark.parametrize("higher", LAYERS)
@pytest.mark.parametrize(("said", "instead"), [("sessions", "per_cell"), ("per_cell", "sessions")])
def test_a_higher_layer_that_counts_the_other_way_takes_the_lower_count_back(
    said: str, instead: str, higher: str
) -> None:
    spec = spec_of(f"{said}: 9", LAYERS[higher](instead, 4))
    assert (value_at(spec, (said,)), value_at(spec, (instead,))) == (None, 4)
    lower = [LAYERS[name](said, 7) for name in list(LAYERS)[: list(LAYERS).index(higher)]]
    spec = spec_of("", *lower, LAYERS[higher](instead, 4))
    assert (value_at(spec, (said,)), value_at(spec, (instead,))) == (None, 4)


def test_counting_both_ways_in_one_layer_is_a_mistake_of_that_layer() -> None:
    both = {"sessions": 5, "per_cell": 3}
    complaint = "per_cell: give sessions or per_cell, not both"
    assert mistakes_of("sessions: 5\nper_cell: 3") == [f"matrix.yaml:2: {complaint}"]
    assert mistakes_of("", from_flags(both)) == [f"--per-cell: {complaint}"]
    assert mistakes_of("", from_settings(["per_cell=3", "sessions=5"])) == [
        f"--set per_cell: {complaint}"
    ]
    assert mistakes_of("", from_environment({"MATRIX_SESSIONS": "5", "MATRIX_PER_CELL": "3"})) == [
        f"MATRIX_PER_CELL: {complaint}"
    ]


# --- settings and models -------------------------------------------------------------------------


def test_a_setting_reaches_any_field_and_is_read_as_yaml() -> None:
    spec = spec_of(
        "limits: {turns: 3, attempts: 2}",
        from_settings(
            [
                "limits.turns=7",
                "factors.prompt=[a, b]",
                "options.note=a=b",
                "compare.margin=",
                "seed= 5",
            ],
        ),
    )
    assert (spec.limits.turns, spec.limits.attempts) == (7, 2)
    assert spec.factors == {"prompt": ("a", "b")}
    assert spec.options == {"note": "a=b"}
    assert (spec.compare.margin, spec.seed) == (None, 5)


def test_every_bad_setting_is_told_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        from_settings(
            [
                "turns",
                "=5",
                "",
                "limits.turns=[1",
                "a=&x [*x]",
                "b={k: 1, k: 2}",
                "c=99999999999999999999",
            ],
        )
    assert str(caught.value).splitlines() == [
        "--set: found 'turns'; write it as PATH=VALUE",
        "--set: found '=5'; write it as PATH=VALUE",
        "--set: found ''; write it as PATH=VALUE",
        "--set limits.turns: not YAML: expected ',' or ']', but got '<stream end>'",
        "--set a: [0]: *x is inside of what it stands for",
        "--set b: k: is given twice",
        "--set c: found 99999999999999999999; no number here may be beyond 64 bits",
    ]


def test_a_setting_inside_a_list_is_a_mistake_and_not_a_new_mapping() -> None:
    assert mistakes_of("scenarios: [a, b]", from_settings(["scenarios.0=c"])) == [
        "matrix.yaml:1: scenarios: found ['a', 'b']; must be a mapping to take --set scenarios.0"
    ]


def test_a_model_is_set_by_role_over_the_one_of_the_file() -> None:
    spec = spec_of("roles: {judge: sim/haiku, all: sim/opus}", from_models(["judge=sim/qwen"]))
    assert spec.roles == {"judge": "sim/qwen", "all": "sim/opus"}


@pytest.mark.parametrize("order", [1, -1])
def test_all_goes_over_every_role_of_the_file_and_under_roles_named_beside_it(order: int) -> None:
    models = ["narrator=sim/opus", "all=sim/qwen"][::order]
    spec = spec_of("roles: {judge: sim/haiku, narrator: sim/haiku}", from_models(models))
    assert spec.roles == {"narrator": "sim/opus", "all": "sim/qwen"}


def test_every_bad_model_assignment_is_told_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        from_models(["narrator", "=sim/opus", "judge=", "players=sim/opus"])
    assert str(caught.value).splitlines() == [
        "--model: found 'narrator'; write it as ROLE=MODEL",
        "--model: found '=sim/opus'; write it as ROLE=MODEL",
        "--model: found 'judge='; write it as ROLE=MODEL",
    ]


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_settings_give_overrides_or_mistakes(settings: list[str]) -> None:
    try:
        assert len(from_settings(settings)) >= len(settings)
    except BadInput as error:
        assert error.mistakes  # noqa: PT017


def test_an_argument_of_the_api_is_named_as_it_is_written_there() -> None:
    assert mistakes_of("", from_flags({"max_cost": -5}, "{}")) == [
        "max_cost: limits.cost_usd: found -5; should be greater than 0"
    ]
