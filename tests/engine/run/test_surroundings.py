"""What the machine has to have for a run; decided from what is handed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.engine.run.surroundings import (
    address_finding,
    clock_finding,
    executor_finding,
    folder_finding,
    installed,
    package_findings,
)


def states(**versions: str | None) -> dict[str, str]:
    return {f.what: f.state for f in package_findings(versions.get)}


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_releases_that_stole_keys_are_refused(version: str) -> None:
    assert states(litellm=version, ray="2.60.0")["litellm"] == "missing"


def test_packages_that_are_not_there_are_missing() -> None:
    assert states() == {"Python": "ok", "litellm": "missing", "ray": "missing"}
    assert set(states(litellm="1.106.2", ray="2.60.0").values()) == {"ok"}
    assert installed("no-such-package-at-all") is None


@pytest.mark.parametrize(("now", "state"), [(99.0, "warn"), (100.0, "ok"), (1e9, "ok")])
def test_a_clock_before_the_installation_is_wrong(now: float, state: str) -> None:
    assert clock_finding(now, 100.0).state == state


def test_a_folder_that_is_not_there_yet_is_judged_by_where_it_would_be(tmp_path: Path) -> None:
    assert "free" in folder_finding(tmp_path / "a" / "b").found
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"


@pytest.mark.parametrize("url", ["nonsense", "http://", "ftp://host/v1", "http://host:port/v1"])
def test_what_is_no_address_is_said_to_be_none(url: str) -> None:
    assert address_finding(url).found == "is no http or https address"


def test_one_process_needs_nothing() -> None:
    assert executor_finding("in-process").state == "ok"
