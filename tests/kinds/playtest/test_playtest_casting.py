"""Laws of casting: whatever models answer, everybody at the table is somebody of their own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup import prompts
from matrix.kinds.playtest.table.casting import MAX_BACKSTORY, MAX_NAME, clean_name
from tests.kinds.fakes import Asked, make_prelude
from tests.kinds.playtest.script import Script, binding, plan
from tests.sampling import examples

FIVE = {"group_size_min": 5, "group_size_max": 5}

rubbish = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        [
            "",
            "{",
            "null",
            '{"name": "Danny"}',
            '{"name": "danny", "backstory": 3}',
            '{"name": "Narrator", "backstory": "x"}',
            '{"name": ["Danny"], "backstory": null}',
            '```json\n{"name": "  **Danny**, the Great ", "backstory": "B", "character": "C"}\n```',
            '{"name": "' + "D" * 500 + '"}',
            '{"name": "a\\u202e\\u0000b"}',
        ]
    ),
    st.builds(lambda name: json.dumps({"name": name, "backstory": "B."}), st.text(max_size=40)),
)


@settings(max_examples=examples(150))
@given(st.lists(rubbish, min_size=5, max_size=5), st.integers(0, 2**40))
def test_names_are_unique_and_clean_whatever_the_models_answer(
    answers: list[str], seed: int
) -> None:
    script = Script(personas=answers)
    players = make_prelude(KIND, plan(seed=seed, options=FIVE), binding().resources, script)
    names = [player["name"] for player in players]
    assert len({name.casefold() for name in names}) == len(names) == 5
    for player in players:
        assert player["name"].strip() == player["name"]
        assert 1 < len(player["name"]) <= MAX_NAME
        assert player["name"].isprintable()
        assert player["name"].casefold() not in ("narrator", "spokesperson", "table")
        assert 0 < len(player["backstory"]) <= MAX_BACKSTORY
        assert player["character"]
    assert sum(player["spokesperson"] for player in players) == 1


def test_rubbish_is_replaced_by_names_of_the_scenario() -> None:
    bound = binding()
    players = make_prelude(KIND, plan(options=FIVE), bound.resources, Script(personas=["{}"]))
    assert {player["name"] for player in players} <= set(bound.resources["scenario"]["names"])


def test_prose_instead_of_json_still_becomes_a_backstory() -> None:
    script = Script(personas=["A retired porter who never lost a hatbox."])
    players = make_prelude(KIND, plan(options=FIVE), binding().resources, script)
    assert players[0]["backstory"] == "A retired porter who never lost a hatbox."


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Danny", "Danny"),
        ('"danny"', "Danny"),
        ("Dr. Odile Marsh", "Odile"),
        ("Anne-Marie", "Anne-Marie"),
        ("O'Neill", "O'Neill"),
        ("Zoë", "Zoë"),
        ("  **Sam** (the quiet one)", "Sam"),
        ("narrator", ""),
        ("42", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_name_is_the_first_real_word_of_what_was_written(written: object, name: str) -> None:
    assert clean_name(written) == name


def test_each_player_is_cast_by_the_model_of_their_archetype_in_parallel() -> None:
    asked: list[Asked] = []
    script = Script()

    def handler(request: Asked) -> str:
        asked.append(request)
        return script(request)

    bound = binding()
    players = make_prelude(KIND, plan(options=FIVE), bound.resources, handler)
    assert [request.slot for request in asked] == [f"0.{seat}.0" for seat in range(5)]
    for request, player in zip(asked, players, strict=True):
        own = bound.resources["archetypes"][player["archetype"]]["model"]
        assert request.model == player["model"] == f"sim/{own}"
        assert request.role == "players"
        assert request.system.startswith(prompts.PERSONA)


def test_the_role_can_name_one_model_for_everybody_or_the_archetypes_own() -> None:
    bound = binding()
    for role, expected in (("opus", "opus"), ("by-archetype", None)):
        session = plan(options=FIVE, roles={"players": role})
        for player in make_prelude(KIND, session, bound.resources, Script()):
            own = bound.resources["archetypes"][player["archetype"]]["model"]
            assert player["model"] == (expected or own)
