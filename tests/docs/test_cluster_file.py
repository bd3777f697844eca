"""``cluster.yaml`` is what Ray's cluster launcher takes, and holds no secret."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "cluster.yaml"


@pytest.fixture
def given() -> dict[str, Any]:
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.fixture
def prepared(given: dict[str, Any]) -> dict[str, Any]:
    """As the launcher fills it up before it uses it."""
    filled = prepare_config(given)
    assert isinstance(filled, dict)
    return filled


def locked(package: str) -> str:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    (version,) = [one["version"] for one in lock["package"] if one["name"] == package]
    return str(version)


def test_rays_own_validator_takes_it_with_every_machine_in_it(prepared: dict[str, Any]) -> None:
    validate_config(prepared)
    assert prepared["provider"]["type"] == "local"
    workers = prepared["provider"]["worker_ips"]
    assert workers
    (kind,) = prepared["available_node_types"].values()
    assert kind["min_workers"] == kind["max_workers"] == prepared["max_workers"] == len(workers)


def test_rays_own_validator_would_find_a_mistake_in_it(given: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="was unexpected"):
        validate_config(prepare_config(given | {"machines": 3}))


def test_every_node_has_the_ray_of_the_lock_file_and_a_python_that_the_wheel_takes(
    prepared: dict[str, Any],
) -> None:
    commands = "\n".join(prepared["setup_commands"])
    assert re.findall(r"\bray(?:\[\w+\])?==([\d.]+)", commands) == [locked("ray")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least, below = re.findall(r"3\.(\d+)", project["requires-python"])
    (minor,) = set(re.findall(r"\bpython3\.(\d+)\b", commands))
    assert int(least) <= int(minor) < int(below)
    assert project["name"].replace("-", "_") in commands
    for part in ("head", "worker"):
        starts = [line for line in prepared[f"{part}_start_ray_commands"] if "ray start" in line]
        assert [line for line in starts if line.startswith("RAY_AUTH_MODE=token ")] == starts != []


def test_no_secret_is_in_it() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert not re.search(r"\w*(?:API_KEY|SECRET|PASSWORD)\w*\s*[=:]", text, re.I)
    assert not re.search(r"RAY_AUTH_TOKEN\s*[=:]", text), "a token is a file of each node's own"
    assert not re.search(r"\b[0-9a-f]{32,}\b|\bsk-\w+", text)
