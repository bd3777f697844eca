"""`matrix export --to hf`, read back by the library of Hugging Face."""

from __future__ import annotations

from pathlib import Path

import pytest

import matrix
from tests.interop.libraries import library

pytestmark = pytest.mark.long


def test_every_table_is_loaded_by_its_name(
    talked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    datasets = library("datasets")
    place, run = str(talked / "set"), matrix.open_run("talk", results=talked / "results")
    names = datasets.get_dataset_config_names(place)
    assert names[0] == "sessions"
    for name in names:
        loaded = datasets.load_dataset(place, name, split="train", cache_dir=str(tmp_path))
        frame = run.frame(name)
        assert loaded.num_rows == len(frame) > 0
        assert loaded.column_names == list(frame.columns)
    sessions = datasets.load_dataset(place, split="train", cache_dir=str(tmp_path))
    assert set(sessions["session_id"]) == set(run.sessions().session_id)


def test_the_card_is_one(talked: Path) -> None:
    hub = library("huggingface_hub")
    card = hub.DatasetCard.load(str(talked / "set" / "README.md"))
    assert card.data.pretty_name == "talk"
    assert "simulated" in card.data.tags
