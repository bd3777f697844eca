"""Replays from exported files: no run is needed, and nothing in a file is believed unchecked."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matrix.api import Run, export, plan_replay_checkpoint, replay_checkpoint
from matrix.model.errors import BadInput, StoreError
from matrix.model.seeds import content_hash
from tests.branching.looking import ids, left_behind
from tests.sampling import examples

pytestmark = pytest.mark.usefixtures("flags")

TURN = 3


@pytest.fixture
def file(parent: Run, tmp_path: Path) -> Path:
    """An exported checkpoint of either kind, where nothing else of its run is."""
    return export(parent.path, ids(parent)[0], tmp_path / "there" / "turn.json", turn=TURN)


def edited(file: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    """The file with something in it changed."""
    value = orjson.loads(file.read_bytes())
    edit(value)
    file.write_bytes(orjson.dumps(value))
    return file


def told(file: Path, **more: Any) -> list[str]:
    """Every mistake that keeps a file from being replayed."""
    with pytest.raises(BadInput) as raised:
        plan_replay_checkpoint(file, project=file.parent, **more)
    return [str(mistake).removeprefix(f"{file}: ") for mistake in raised.value.mistakes]


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, TURN, 6])
def test_an_unchanged_replay_from_a_file_is_the_parents_further_course(
    parent: Run, tmp_path: Path, turn: int
) -> None:
    session = ids(parent)[0]
    file = export(parent.path, session, tmp_path / "turn.json", turn=turn)
    run = replay_checkpoint(file, project=tmp_path, results=tmp_path / "r", executor="in-process")
    (child,) = ids(run)
    for table in ("messages", "events", "scores", "players"):
        assert left_behind(run, child, table) == left_behind(parent, session, table), table
    turns = run.frame("turns").sort_values("turn")
    assert list(turns["turn"].unique()) == list(range(turn, 7))
    columns = ["outcome", "turns", "score", "duration_s", "seed", "scenario", "prelude_id"]
    before = parent.sessions().set_index("session_id").loc[session]
    assert run.sessions()[columns].iloc[0].to_dict() == before[columns].to_dict()


@pytest.mark.slow
def test_the_file_replays_as_its_run_does_with_the_same_change(
    parent: Run, file: Path, tmp_path: Path
) -> None:
    changes = {"step": 9} if parent.file.kind == "counter" else {"prompt": "structured"}
    here = replay_checkpoint(
        file, project=tmp_path, changes=changes, times=5, results=tmp_path, executor="in-process"
    )
    there = parent.replay(
        ids(parent)[0], turn=TURN, changes=changes, times=5, results=tmp_path, executor="in-process"
    )
    assert ids(here) == ids(there)
    assert len(ids(here)) == 5
    for session in ids(here):
        assert left_behind(here, session, "messages") == left_behind(there, session, "messages")
        assert left_behind(here, session, "scores") == left_behind(there, session, "scores")
    assert here.file.branched == there.file.branched


@pytest.mark.slow
def test_a_run_from_a_file_is_whole_and_can_be_a_parent_and_exported_again(
    parent: Run, file: Path, tmp_path: Path
) -> None:
    run = replay_checkpoint(file, project=tmp_path, results=tmp_path / "r", executor="in-process")
    shutil.rmtree(file.parent)
    (child,) = ids(run)
    again = run.replay(child, turn=5, executor="in-process")
    assert left_behind(again, ids(again)[0], "messages") == left_behind(run, child, "messages")
    export(run.path, child, tmp_path / "5.json", turn=5)
    third = replay_checkpoint(tmp_path / "5.json", project=tmp_path, executor="in-process",
                              results=tmp_path / "r")  # fmt: skip
    assert left_behind(third, ids(third)[0], "scores") == left_behind(run, child, "scores")


# --- what a file may not say ----------------------------------------------------------------------


def test_a_file_of_format_1_can_be_read_and_says_how_to_write_it_anew(
    parent: Run, file: Path
) -> None:
    def older(value: dict[str, Any]) -> None:
        value["format"] = 1
        del value["continuation"]["spec"], value["continuation"]["folder"]

    (mistake,) = told(edited(file, older))
    session = ids(parent)[0]
    assert "files of format 1 have no run spec" in mistake
    assert f"matrix export parent {session} --turn {TURN} -o FILE" in mistake


def test_a_state_that_the_kind_cannot_load_is_said_field_by_field(file: Path) -> None:
    names = list(orjson.loads(file.read_bytes())["continuation"]["state"])[:2]
    wrong = {name: {"another": "shape"} for name in names}
    found = told(edited(file, lambda value: value["continuation"]["state"].update(wrong)))
    assert {one.split(": ")[0].split("[")[0] for one in found} >= {
        f"continuation.state.{name}" for name in names
    }


def test_every_mistake_in_a_file_and_in_the_changes_is_said_at_once(file: Path) -> None:
    def spoil(value: dict[str, Any]) -> None:
        there = value["continuation"]
        there["spec"]["limits"]["cost_usd"] = -1
        there["spec"]["surprise"] = 1
        there["plan"]["kind"] = "playtst"

    found = told(edited(file, spoil), times=0)
    starts = ("--times: ", "continuation.spec.limits.cost_usd: ", "continuation.spec.surprise: ",
              "continuation.plan.kind: found 'playtst'; installed kinds: ")  # fmt: skip
    assert len(found) == len(starts)
    assert all(any(one.startswith(start) for one in found) for start in starts)


def test_parts_that_do_not_fit_the_kind_are_refused(file: Path) -> None:
    def spoil(value: dict[str, Any]) -> None:
        plan = value["continuation"]["plan"]
        plan["part"], plan["roles"] = "prelude", {}
        plan["options"]["surprise"] = 1

    found = told(edited(file, spoil))
    assert found[0].startswith("continuation.plan.part: found 'prelude'")
    assert any(one.startswith("continuation.plan.roles: says no model for") for one in found)
    assert any(one.startswith("continuation.plan.options.surprise: ") for one in found)


def test_texts_of_another_shape_are_refused_before_anything_starts(file: Path) -> None:
    def reshape(value: dict[str, Any]) -> None:
        there = value["continuation"]
        there["resources"][content_hash([1])] = [1]
        there["plan"]["resources"]["scenario"] = content_hash([1])

    (mistake,) = told(edited(file, reshape))
    assert mistake.startswith("continuation.resources: the ")


def rehash(there: dict[str, Any]) -> None:
    """Give edited texts their right hash again, as whoever edits a file can do."""
    texts, plan = there["resources"], there["plan"]
    named = plan.get("resources") if isinstance(plan, dict) else None
    if isinstance(texts, dict) and isinstance(named, dict):
        now = {key: content_hash(text) for key, text in texts.items()}
        there["resources"] = {now[key]: text for key, text in texts.items()}
        plan["resources"] = {
            name: now.get(key, key) if isinstance(key, str) else key for name, key in named.items()
        }


@settings(
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_change_of_a_field_is_refused_or_planned_without_a_crash(
    file: Path, data: st.DataObject
) -> None:
    value = orjson.loads(file.read_bytes())
    part: Any = value["continuation"]
    while True:
        place = data.draw(
            st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part)))
        )
        if not isinstance(part[place], dict | list) or not part[place] or data.draw(st.booleans()):
            break
        part = part[place]
    part[place] = data.draw(st.sampled_from([None, 0, -1, 2**62, "x", "", [], {}, [None], 1.5]))
    rehash(value["continuation"])
    path = file.with_name("edited.json")
    path.write_bytes(orjson.dumps(value))
    with suppress(BadInput):  # anything else would be a crash
        plan_replay_checkpoint(path, project=file.parent)


def roles_of(value: dict[str, Any]) -> dict[str, Any]:
    """Role -> model, in the plan of a file's session."""
    roles: dict[str, Any] = value["continuation"]["plan"]["roles"]
    return roles


def test_a_key_is_sent_to_an_address_of_the_files_only_if_that_is_said(file: Path) -> None:
    model = {"target": "openai/x", "api_base": "https://elsewhere.example/v1",
             "api_key_env": "OPENAI_API_KEY", "free": True}  # fmt: skip
    edited(file, lambda value: value["continuation"]["spec"].update(models={"mine": model}))
    edited(file, lambda value: roles_of(value).update(dict.fromkeys(roles_of(value), "mine")))
    sends, price, cap = told(file)
    assert "counts openai/x at $0 and $0 a million tokens, and no list knows that model" in price
    assert sends.startswith("models: sends the key in OPENAI_API_KEY to https://elsewhere.example")
    assert sends.endswith("comes from elsewhere; if that is meant: --trust")
    assert cap.endswith("comes from elsewhere; say what it may cost at most: --max-cost USD")
    planned = plan_replay_checkpoint(file, project=file.parent, max_cost=150, trust=True)
    assert planned.continuation.prepared.plan.sessions == 1


def test_a_file_that_would_hold_a_key_is_not_written(
    counter: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = counter.session(ids(counter)[0]).messages[0].text
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{said}")
    assert export(counter.path, ids(counter)[0], tmp_path / "a.json").is_file()
    monkeypatch.setenv("OPENAI_API_KEY", "counter")
    with pytest.raises(StoreError, match="holds the key that OPENAI_API_KEY has"):
        export(counter.path, ids(counter)[0], tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()
