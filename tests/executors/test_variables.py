"""Keys reach processes of the same machine, wherever its temporary folders are."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from matrix_actors.variables import VariableServer, take_variables


@pytest.mark.parametrize("deep", ["t", "a-temporary-folder-" * 8])
async def test_variables_are_given_also_where_temporary_folders_are_too_deep_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deep: str
) -> None:
    (tmp_path / deep).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / deep))
    server = VariableServer({"SOME_KEY": "worth a lot"})
    folder = Path(server.place).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    await server.start()
    found: dict[str, str] = {}
    await take_variables(server.place, found)
    await server.stop()
    assert found == {"SOME_KEY": "worth a lot"}
    assert not folder.exists()
    assert list((tmp_path / deep).iterdir()) == []
