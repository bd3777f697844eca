"""Fetch the pinned `uv` into .tools/, with nothing but Python's standard library.

A fresh machine may have Python without pip and without the venv module. `uv.lock` pins uv itself
with its hashes, so this takes the wheel for this platform from there, checks it, and unpacks the
one program in it. Everything else is then installed by uv from the same lock file.
"""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / ".tools" / "uv"


def wheel_tags() -> tuple[str, ...]:
    """Parts that the file name of this platform's wheel has."""
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    if sys.platform == "darwin":
        return ("macosx", "arm64" if machine == "aarch64" else machine)
    glibc = platform.libc_ver()[0] == "glibc"
    return ("manylinux" if glibc else "musllinux", machine)


def main() -> int:
    """Fetch, check and unpack."""
    if sys.version_info < (3, 11):  # noqa: UP036  an old Python is what this finds out
        print(f"matrix needs Python 3.11 or newer; this is {platform.python_version()}")
        return 1
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    package = next(p for p in lock["package"] if p["name"] == "uv")
    tags = wheel_tags()
    wheels = [w for w in package["wheels"] if all(tag in w["url"] for tag in tags)]
    if not wheels:
        print(
            f"no uv {package['version']} for {' '.join(tags)}; install uv yourself and run "
            "`make UV=uv ...`"
        )
        return 1
    with urllib.request.urlopen(wheels[0]["url"], timeout=120) as response:
        content = response.read()
    if "sha256:" + hashlib.sha256(content).hexdigest() != wheels[0]["hash"]:
        print(f"{wheels[0]['url']} does not have the hash that uv.lock gives; stopping")
        return 1
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".data/scripts/uv"))
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_bytes(archive.read(name))
    TARGET.chmod(0o755)
    print(f"uv {package['version']} is in {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
