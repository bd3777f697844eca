"""Exported sessions: read back they are the same, and edited or foreign files are refused."""

from __future__ import annotations

import errno
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matrix import api
from matrix.engine.prepare.registry import document_of
from matrix.kinds.playtest.export.document import (
    GroupRecord,
    HistoryMessage,
    PlayerAgent,
    PrivateMoment,
    SessionConfig,
    Tangent,
)
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.model.errors import BadInput, StoreError
from matrix.model.moments.checkpoint_file import MAX_BYTES, CheckpointFile, from_bytes, to_bytes
from matrix.model.moments.continuation import FilePart
from matrix.model.money import show_usd
from matrix.report.session.checkpoints import turns_of
from matrix.store.journal.transcript import SessionNotFound
from matrix.store.run.disk import Disk
from matrix.store.run.exports import write_files
from tests.sampling import examples

KEPT = Path(__file__).parents[1] / "store" / "journals_v3"
TURNS = 4


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for name in ("play", "counter"):
        shutil.copytree(KEPT / name, folder / name)
        api.repair(name, results=folder)
    return folder


@pytest.fixture(scope="module")
def exported(results: Path) -> CheckpointFile:
    return api.checkpoint("play", "best", turn=3, results=results)


def mistakes_in(value: Any) -> str:
    with pytest.raises(BadInput) as caught:
        from_bytes(orjson.dumps(value), "file.json", document_of)
    return str(caught.value)


def as_data(exported: CheckpointFile) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(to_bytes(exported))
    return found


@pytest.mark.parametrize("run", ["play", "counter"])
def test_a_checkpoint_read_back_is_the_same_value(results: Path, run: str, tmp_path: Path) -> None:
    session = api.open_run(run, results=results).sessions()["session_id"][0]
    for turn in turns_of(api.open_run(run, results=results).session(session)):
        path = tmp_path / f"turn-{turn}.json"
        api.export(run, session, path, turn=turn, results=results)
        found = api.read_checkpoint(path)
        assert found == api.checkpoint(run, session, turn=turn, results=results)
        assert to_bytes(found) == path.read_bytes()


def test_it_holds_what_the_session_was_after_that_turn(
    results: Path, exported: CheckpointFile
) -> None:
    session = api.open_run("play", results=results).session("best")
    steps = [done for done in session.turns if done.phase != "finish" and done.turn <= 3]
    there = exported.continuation
    done = there.checkpoint()
    assert there.session_plan() == session.plan
    assert PlaytestState.model_validate_json(done.state) == PlaytestState.model_validate_json(
        steps[-1].state
    )
    assert done.messages == tuple(m for step in steps for m in step.messages)
    assert done.events == tuple(e for step in steps for e in step.events)
    assert (done.tally, done.versions, done.turn) == (steps[-1].tally, steps[-1].versions, 3)
    assert set(there.resources) == set(session.plan.resources.values())
    assert [person["name"] for person in there.prelude] == [p.name for p in session.players]


def test_it_reads_as_the_play_test_document_says(exported: CheckpointFile) -> None:
    data = as_data(exported)
    assert set(data) - {"format", "run", "continuation"} == {
        "turn", "timestamp", "conversationHistory", "playerAgents", "spokespersonId",
        "sessionConfig", "detectedPulses", "detectedTangents", "privateMoments",
    }  # fmt: skip
    agents = data["playerAgents"]
    assert data["spokespersonId"] in {agent["name"] for agent in agents}
    assert all(agent["systemPrompt"].startswith("# You are a player") for agent in agents)
    assert all(agent["generatedBackstory"] and agent["characterForStory"] for agent in agents)
    assert data["sessionConfig"]["storyGuide"]
    assert data["sessionConfig"]["systemPrompt"]
    said = data["conversationHistory"]
    assert {line["role"] for line in said} == {"narrator", "spokesperson", "player"}
    assert "".join(line["content"] for line in said).count("# You are") == 0
    assert all(line["player"] for line in said if line["role"] != "narrator")
    kinds = {line["classification"] for line in said if line["classification"] is not None}
    assert kinds <= {"pulse", "tangent-response", "private-moment", "clarification", "recap"}
    assert data["detectedPulses"] == [
        line["turn"] for line in said if line["classification"] == "pulse"
    ]


FIELDS = {
    PlayerAgent: "archetype name model generatedBackstory characterForStory systemPrompt",
    GroupRecord: "players spokesperson size",
    SessionConfig: "story storyGuide systemPrompt narratorModel group maxTurns seed",
    HistoryMessage: "role player content turn timestamp classification",
    Tangent: "startTurn endTurn length initiator type recoveryMethod segueQuality",
    PrivateMoment: (
        "turn target content response backstoryAlignment narrativeAppropriateness payoffDetected "
        "payoffTurn"
    ),
}
"""What the play-test document has of each part of a checkpoint."""


@pytest.mark.parametrize("part", FIELDS, ids=lambda part: part.__name__)
def test_no_field_of_the_play_test_document_is_missing(part: type[FilePart]) -> None:
    assert set(FIELDS[part].split()) <= set(part.model_fields)


@pytest.mark.parametrize("turn", [5, 99])
def test_a_turn_that_is_not_there_is_refused_with_those_that_are(results: Path, turn: int) -> None:
    with pytest.raises(BadInput, match=f"found {turn}; allowed: 0 to 4"):
        api.checkpoint("play", "best", turn=turn, results=results)


def test_a_folder_holds_every_turn_and_a_report(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "one"
    api.export_all("play", "best", folder, results=results)
    names = {path.name for path in folder.iterdir()}
    assert names == {*(f"turn-{turn}.json" for turn in range(TURNS + 1)), "report.md"}
    report = (folder / "report.md").read_text()
    headings = re.findall(r"^#{1,2} (.*)$", report, re.M)
    assert headings == [
        "Session Report", "Config", "Group", "Summary", "Timeline", "Issues", "Metrics",
        "Full Transcript", "Tokens and Money",
    ]  # fmt: skip
    session = api.open_run("play", results=results).session("best")
    for message in session.messages:
        first, *rest = message.text.split("\n")  # what follows the first line is quoted
        said = "\n".join([first, *(f"> {line}".rstrip() for line in rest)])
        assert message.speaker == "system" or said in report
    assert "(simulated)" in report
    rows = [line.split("|")[1:-1] for line in report.splitlines() if line.startswith("| ")]
    money = [[cell.strip() for cell in row] for row in rows if len(row) == 7]
    tally = session.tally
    assert money[-1] == [
        "all", "", "", f"{tally.calls:,}", f"{tally.tokens_in:,}", f"{tally.tokens_out:,}",
        show_usd(tally.cost),
    ]  # fmt: skip


def test_nothing_is_overwritten_unasked_and_then_nothing_at_all_is_written(
    results: Path, tmp_path: Path
) -> None:
    (tmp_path / "turn-2.json").write_text("mine")
    (tmp_path / "report.md").write_text("mine too")
    with pytest.raises(BadInput) as caught:
        api.export_all("play", "best", tmp_path, results=results)
    assert len(caught.value.mistakes) == 2, "all that are there at once"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.md", "turn-2.json"]
    api.export_all("play", "best", tmp_path, results=results, force=True)
    assert api.read_checkpoint(tmp_path / "turn-2.json").turn == 2


class FullDisk(Disk):
    """Has room for half of every file."""

    def sync_file(self, handle: IO[bytes]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_file_whole_and_no_half_of_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "turn-1.json").write_text("the old one")
    with pytest.raises(StoreError, match="No space left"):
        write_files(tmp_path, {"turn-1.json": lambda: b"the new one"}, force=True, disk=FullDisk())
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the old one"]


def test_all_mistakes_in_a_file_are_told_at_once(exported: CheckpointFile) -> None:
    value = as_data(exported)
    del value["turn"]
    value["playerAgents"] = "nobody"
    value["continuation"]["phase"] = "middle"
    value["surprise"] = 1
    told = mistakes_in(value)
    assert [line.split(": ")[1] for line in sorted(told.splitlines())] == [
        "continuation.phase", "playerAgents", "surprise", "turn",
    ]  # fmt: skip


def test_an_edited_text_a_missing_one_and_another_turn_are_noticed(
    exported: CheckpointFile,
) -> None:
    value = as_data(exported)
    there = value["continuation"]
    prompt, guide = there["plan"]["resources"]["prompt"], there["plan"]["resources"]["guide"]
    there["resources"][prompt] += "Be kinder."
    del there["resources"][guide]
    value["turn"] = 2
    told = mistakes_in(value)
    assert "was it edited?" in told
    assert "continuation.plan.resources.guide" in told
    assert "found 2, but continuation.turn is 3" in told


def test_a_list_that_is_too_short_is_refused_with_its_place(exported: CheckpointFile) -> None:
    value = as_data(exported)
    value["continuation"]["ended"] = []
    assert "continuation.ended[0]: is required and missing" in mistakes_in(value)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "must be a mapping"),
        (b"null", "must be a mapping"),
        (b'{"format": 4}', "reads formats up to 3: upgrade"),
        (b" " * (MAX_BYTES + 1), "at most"),
    ],
)
def test_what_is_no_checkpoint_is_refused_in_a_sentence(data: bytes, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        from_bytes(data, "file.json", document_of)


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_change_of_a_field_is_refused_or_read_without_a_crash(
    exported: CheckpointFile, data: st.DataObject
) -> None:
    value = as_data(exported)
    part: Any = value
    while True:
        place = data.draw(
            st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part)))
        )
        if not isinstance(part[place], dict | list) or not part[place] or data.draw(st.booleans()):
            break
        part = part[place]
    part[place] = data.draw(st.sampled_from([None, -1, 2**63, "x", [], {}, [None], 1.5]))
    with suppress(BadInput):  # anything else would be a crash
        read = from_bytes(orjson.dumps(value), "file.json", document_of)
        assert from_bytes(to_bytes(read), "again.json", document_of) == read


def test_a_file_that_is_not_there_and_a_session_that_is_not_there(
    results: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        api.read_checkpoint(tmp_path / "none.json")
    with pytest.raises(SessionNotFound):
        api.checkpoint("play", "nobody", results=results)
