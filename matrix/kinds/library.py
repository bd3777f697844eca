"""Where packs are found: the project's own folders first, then the ones that ship with matrix.

``scenarios/<kind>/<name>/`` holds a pack, ``scenarios/<kind>/<part>/`` (no ``scenario.yaml``
inside) what packs of a kind share, ``archetypes/<id>.yaml`` an archetype. The shipped ones are
taken from the checkout when there is one, because an editable install leaves stale copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from matrix.kinds.protocol import ScenarioPack
from matrix.kinds.text_files import links_in, real
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
        *,
        outside: bool = False,
    ) -> None:
        """Look at no folder yet.

        Args:
            project: The folder of the run spec, or the working directory without one.
            shipped: What ships, if it is not where it should be.
            packs: Scenarios that the run spec's own file holds; with any, they are all there are.
            outside: Whether hidden files, and what is not of the project, may be read as well.
        """
        self.project, self.packs, self._outside = project, packs or {}, outside
        self._roots = list(dict.fromkeys([project.resolve(), (shipped or shipped_root())]))

    def folder(self, kind: str, name: str) -> Path | None:
        for root in self._roots:
            candidate = root / "scenarios" / kind / name
            if _is_pack(candidate):
                self.require_meant(candidate, str(candidate))
                for path in links_in(candidate):
                    self.require_meant(path, str(path))
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

    def rubrics(self, kind: str) -> Mapping[str, Path]:
        """Name -> file of every rubric: of any kind, and of this one."""
        found = {**self.shared(kind, "rubrics", ".md"), **self._files("rubrics", ".md")}
        return dict(sorted(found.items()))

    def project_file(self, reference: str) -> Path:
        path = Path(reference.removeprefix("file://"))
        full = path if path.is_absolute() else self.project / path
        self.require_meant(full, reference)
        if not full.is_file():
            told = f"no such file: {full}"
            if full.exists():
                told = f"no such plain file: {full} is a folder, a pipe or a device"
            raise BadInput([Mistake(reference, None, "", told)])
        return full

    def shared_folder(self, kind: str, part: str, name: str) -> Path | None:
        places = [root / "scenarios" / kind / part / name for root in self._roots]
        return next((one for one in places if one.is_dir()), None)

    def project_folder(self, reference: str) -> Path:
        full = self.project / reference.removeprefix("file://")
        self.require_meant(full, reference)
        if not full.is_dir():
            raise BadInput([Mistake(reference, None, "", f"no such folder: {full}")])
        return full

    def require_meant(self, path: Path, reference: str) -> None:
        """See that a spec names nothing that its user did not mean to send to a model.

        It may be somebody else's, and what it names is read into prompts. What is of the project is
        meant: its folder, the checkout that it is in, and where its user stands.

        Raises:
            BadInput: It is elsewhere, or hidden, as files with keys are.
        """
        if self._outside:
            return
        full = real(path)
        inside = next((root for root in self._meant() if full.is_relative_to(root)), None)
        if inside is None:
            told = f"leads out of the project, to {full}"
        elif any(part.startswith(".") for part in full.relative_to(inside).parts):
            told = f"leads to {full}, which is hidden, as files with keys are"
        else:
            return
        told += "; if a model is meant to read it, say --allow-outside"
        raise BadInput([Mistake(reference, None, "", told)])

    def _meant(self) -> list[Path]:
        project = real(self.project)
        checkout = [one for one in (project, *project.parents) if (one / ".git").exists()][:1]
        return [project, *map(real, self._roots), real(Path.cwd()), *checkout]

    def _files(self, folder: str, suffix: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in self._entries(folder):
            if path.suffix == suffix and _is_meant(path):
                if path.is_symlink():
                    self.require_meant(path, str(path))
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
