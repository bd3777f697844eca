"""Laws of binding: what a cell reads, which models it may ask, and what its prelude depends on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.protocol import Binding
from matrix.model.errors import BadInput
from matrix.model.seeds import content_hash
from tests.kinds.playtest.script import SCENARIO


def bind(
    roles: dict[str, str] | None = None,
    *,
    project: Path | None = None,
    max_turns: int = 60,
    **options: Any,
) -> Binding:
    library = FolderLibrary(project or shipped_root(), shipped_root())
    folder = library.folder("playtest", SCENARIO)
    assert folder is not None
    pack = KIND.read_pack(folder, SCENARIO)
    return KIND.bind(pack, PlaytestOptions.model_validate(options), roles or {}, library, max_turns)


def mistakes(roles: dict[str, str] | None = None, **options: Any) -> list[str]:
    with pytest.raises(BadInput) as caught:
        bind(roles, **options)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_resources_are_scenario_guide_prompt_and_archetypes() -> None:
    bound = bind(prompt="structured")
    assert set(bound.resources) == {"scenario", "guide", "prompt", "archetypes"}
    assert "[PULSE 7]" in bound.resources["prompt"]
    assert "guide" not in bound.resources["scenario"]
    assert len(bound.resources["archetypes"]) == 10
    json.dumps(dict(bound.resources))


def test_the_prelude_is_independent_of_prompt_narrator_and_scoring() -> None:
    one = content_hash(bind().prelude)
    same = [
        bind(prompt="pulse-aware"),
        bind({"narrator": "opus-4.5", "judge": "gpt-4o", "spokesperson": "haiku"}),
        bind(with_judge=False, stuck_after=9, recent_messages=2, weights={"quality": 1.0}),
        bind(judge_repeats=5),
    ]
    assert {content_hash(bound.prelude) for bound in same} == {one}


def test_the_prelude_depends_on_whatever_decides_the_group() -> None:
    different = [
        bind(),
        bind(group_size_max=4),
        bind(archetypes=("joker", "drifter")),
        bind(group=("joker", "drifter")),
        bind({"players": "qwen"}),
    ]
    assert len({content_hash(bound.prelude) for bound in different}) == len(different)


def test_models_follow_the_archetypes_where_roles_say_so() -> None:
    assert bind().models == {
        "sim/deepseek-r2",
        "sim/gpt-4o-mini",
        "sim/grok",
        "sim/qwen",
        "sim/deepseek",
        "sim/kimi-k2",
    }
    real = bind({"players": "by-archetype", "spokesperson": "haiku"}, group=("joker", "follower"))
    assert real.models == {"sim/deepseek-r2", "sim/gpt-4o-mini", "grok", "kimi-k2", "haiku"}
    assert "sim/gpt-4o-mini" in bind({"judge": "opus"}, with_judge=False).models
    assert "opus" not in bind({"judge": "opus"}, with_judge=False).models


def test_an_unknown_prompt_names_the_known_ones_and_a_near_match() -> None:
    (message,) = mistakes(prompt="basline")
    assert message == (
        "run spec: options.prompt: no prompt is called 'basline'; allowed: baseline, pulse-aware, "
        "structured, tangent-focused, or a file: <path>.md; did you mean 'baseline'?"
    )


def test_a_prompt_can_be_a_file_beside_the_run_spec(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("Tell it slowly.", encoding="utf-8")
    assert bind(project=tmp_path, prompt="file://mine.md").resources["prompt"] == "Tell it slowly."
    with pytest.raises(BadInput, match="no such file"):
        bind(project=tmp_path, prompt="file://gone.md")
    (tmp_path / "empty.md").write_text(" ", encoding="utf-8")
    with pytest.raises(BadInput, match="is empty"):
        bind(project=tmp_path, prompt="file://empty.md")


def test_all_mistakes_of_a_cell_come_at_once() -> None:
    found = mistakes(
        {"narrator": "by-archetype"},
        prompt="nope",
        archetypes=("jokr", "engaged"),
        group=("joker", "driftr"),
    )
    assert len(found) == 4
    assert "options.archetypes[0]: found 'jokr'" in found[1]
    assert found[1].endswith("did you mean 'joker'?")
    assert "options.group[1]: found 'driftr'" in found[2]
    assert found[3] == (
        "run spec: roles.narrator: found 'by-archetype'; only players and spokesperson can follow "
        "the archetypes, name a model"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"group_size_min": 1},
        {"group_size_max": 9},
        {"group_size_min": 5, "group_size_max": 3},
        {"group": ["joker"]},
        {"weights": {"progress": 0, "tangents": 0, "quality": 0, "failures": 0}},
        {"weights": {"progress": -1}},
        {"stuck_after": 1},
        {"promt": "baseline"},
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PlaytestOptions.model_validate(options)


def test_a_group_can_be_a_level_of_a_factor() -> None:
    checked = PlaytestOptions.model_validate({"group": "joker + drifter"})
    assert checked.group == ("joker", "drifter")
    with pytest.raises(ValidationError):
        PlaytestOptions.model_validate({"group": "joker"})


def test_every_option_is_described() -> None:
    for model in (PlaytestOptions, *[PlaytestOptions.model_fields["weights"].annotation]):
        assert model is not None
        assert all(field.description for field in model.model_fields.values())


def test_the_profile_is_ordered_knows_the_turn_limit_and_names_every_model() -> None:
    bound = bind()
    for entry in (*bound.profile, *bound.prelude_profile):
        low, middle, high = entry.calls
        assert 0 <= low <= middle <= high
        assert entry.input_tokens > 0
        assert entry.output_tokens > 0
        assert entry.model in bound.models
    short = bind(max_turns=5)
    narrator = next(entry for entry in short.profile if entry.role == "narrator")
    assert narrator.calls == (7, 7, 7)
    assert {entry.role for entry in bound.profile} == {role.name for role in KIND.roles}


def test_every_repeat_of_the_judge_is_in_the_profile_side_by_side() -> None:
    (once,) = [entry for entry in bind().profile if entry.role == "judge"]
    (often,) = [entry for entry in bind(judge_repeats=5).profile if entry.role == "judge"]
    assert (once.calls, once.at_once) == ((1, 1, 2), 1)
    assert often == once._replace(calls=(5, 5, 10), at_once=5)
    assert not [e for e in bind(judge_repeats=5, with_judge=False).profile if e.role == "judge"]


def test_a_fixed_group_is_estimated_exactly() -> None:
    bound = bind(group=("joker", "joker", "follower"), max_turns=10)
    players = {entry.model: entry.calls for entry in bound.profile if entry.role == "players"}
    assert players == {
        "sim/grok": pytest.approx((24, 24, 24)),
        "sim/kimi-k2": pytest.approx((12,) * 3),
    }
    casting = {entry.model: entry.calls for entry in bound.prelude_profile}
    assert casting == {
        "sim/grok": pytest.approx((2, 2, 2)),
        "sim/kimi-k2": pytest.approx((1, 1, 1)),
    }
