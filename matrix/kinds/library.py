"""Where packs are found: the project's own folders first, then the ones that ship with matrix.

``scenarios/<kind>/<name>/`` holds a pack, ``scenarios/<kind>/<part>/`` (no ``scenario.yaml``
inside) what packs of a kind share, ``archetypes/<id>.yaml`` an archetype. The shipped ones are
taken from the checkout when there is one, because an editable install leaves stale copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from matrix.kinds.protocol import ScenarioPack
from matrix.model.errors import BadInput, Mistake

PACK_FILE = "scenario.yaml"
OTHER_PACK_FILE = "expected.yaml"
"""What marks a folder as a pack; the second is that of scenarios which others write."""


def shipped_root() -> Path:
    """The folder that holds the shipped ``scenarios/`` and ``archetypes/``."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    is_checkout = (checkout / "pyproject.toml").is_file() and (checkout / "scenarios").is_dir()
    return checkout if is_checkout else package / "builtin"


class FolderLibrary:
    """Packs in folders; implements :class:`matrix.kinds.protocol.PackLibrary`."""

    def __init__(
        self,
        project: Path,
        shipped: Path | None = None,
        packs: Mapping[str, ScenarioPack] | None = None,
    ) -> None:
        """Look at no folder yet.

        Args:
            project: The folder of the run spec, or the working directory without one.
            shipped: What ships, if it is not where it should be.
            packs: Scenarios that the run spec's own file holds; with any, they are all there are.
        """
        self._project, self.packs = project, packs or {}
        self._roots = list(dict.fromkeys([project.resolve(), (shipped or shipped_root())]))

    def folder(self, kind: str, name: str) -> Path | None:
        for root in self._roots:
            candidate = root / "scenarios" / kind / name
            if _is_pack(candidate):
                return candidate
        return None

    def scenarios(self, kind: str) -> list[str]:
        if self.packs:
            return list(self.packs)
        return sorted({path.name for path in self._entries(f"scenarios/{kind}") if _is_pack(path)})

    def shared(self, kind: str, part: str, suffix: str) -> Mapping[str, Path]:
        return self._files(f"scenarios/{kind}/{part}", suffix)

    def archetypes(self) -> Mapping[str, Path]:
        return self._files("archetypes", ".yaml")

    def rubrics(self) -> Mapping[str, Path]:
        """Name -> file of every rubric."""
        return self._files("rubrics", ".md")

    def project_file(self, reference: str) -> Path:
        path = Path(reference.removeprefix("file://"))
        full = path if path.is_absolute() else self._project / path
        if not full.is_file():
            raise BadInput([Mistake(reference, None, "", f"no such file: {full}")])
        return full

    def shared_folder(self, kind: str, part: str, name: str) -> Path | None:
        places = [root / "scenarios" / kind / part / name for root in self._roots]
        return next((one for one in places if one.is_dir()), None)

    def project_folder(self, reference: str) -> Path:
        full = self._project / reference.removeprefix("file://")
        if not full.is_dir():
            raise BadInput([Mistake(reference, None, "", f"no such folder: {full}")])
        return full

    def _files(self, folder: str, suffix: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in self._entries(folder):
            if path.suffix == suffix and _is_meant(path):
                found.setdefault(path.stem, path)
        return dict(sorted(found.items()))

    def _entries(self, folder: str) -> Iterator[Path]:
        for root in self._roots:
            base = root / folder
            if base.is_dir():
                yield from _listed(base)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise BadInput(
            [Mistake(str(folder), None, "", f"cannot be read: {error.strerror}")]
        ) from None


def _is_pack(path: Path) -> bool:
    return _is_meant(path / PACK_FILE) or _is_meant(path / OTHER_PACK_FILE)


def _is_meant(path: Path) -> bool:
    """A file, or a link to none: that is told when it is read, and not passed over."""
    return path.is_file() or (path.is_symlink() and not path.exists())
