"""How many workers there are and where: all nodes but the driver's first, one CPU there kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_actors.cluster.placing import (
    MOST_WORKERS,
    NodePlace,
    Waiting,
    avoided,
    cpus_here,
    quota,
    room,
    waiting_text,
    wanted_workers,
)

HEAD, BIG, SMALL = NodePlace("head", 4, last=True), NodePlace("big", 8), NodePlace("small", 1)


@pytest.mark.parametrize(
    ("places", "workers"),
    [
        ([], 0),
        ([NodePlace("head", 0, last=True)], 0),
        ([NodePlace("head", 1, last=True)], 1),
        ([NodePlace("head", 2, last=True)], 1),
        ([HEAD], 3),
        ([HEAD, BIG, SMALL], 12),
        ([NodePlace("head", 1, last=True), NodePlace("home", 1, last=True), SMALL], 3),
        ([NodePlace("head", 1, last=True), NodePlace("home", 1, last=True)], 2),
        (
            [
                NodePlace("head", 2, last=True),
                NodePlace("home", 2, last=True),
                NodePlace("other", 2),
            ],
            4,
        ),
        ([NodePlace("part", 0.5)], 0),
    ],
)
def test_every_cpu_has_a_worker_but_one_of_the_drivers_node(
    places: list[NodePlace], workers: int
) -> None:
    assert room(places) == workers
    assert wanted_workers(places, None) == max(1, workers), "a node may come for the first one"


def test_who_says_a_number_gets_it_and_else_there_are_no_more_than_help() -> None:
    assert wanted_workers([HEAD], 50) == 50
    assert wanted_workers([NodePlace("huge", 128)], None) == MOST_WORKERS


def test_the_drivers_node_is_taken_last_and_what_does_not_fit_never() -> None:
    places = [HEAD, BIG, SMALL]
    for number in range(9):
        assert avoided(number, places, {"old"}) == ("head", "old")
    for number in range(9, 12):
        assert avoided(number, places, {"old"}) == ("old",)


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        (Waiting(3, placed=3, free=0, used=3, own=3), "3 of 3 workers are still starting"),
        (Waiting(2, placed=0, free=2, used=1, own=1), "2 of 3 workers are still starting"),
        (Waiting(3, placed=1, free=1, used=2, own=1), "and others use 1 of their CPUs"),
        (Waiting(3, placed=0, free=0, used=2.5, own=0), "and others use 3 of their CPUs"),
        (Waiting(3, placed=1, free=0, used=1, own=1), "1 fits on the nodes there are; `ray"),
        (None, "1 fits on the nodes there are; `ray"),
    ],
)
def test_others_are_only_named_where_they_have_what_is_waited_for(
    waiting: Waiting | None, words: str
) -> None:
    told = waiting_text(waiting, 3, 1)
    assert words in told
    assert ("waiting for CPUs" in told) is ("starting" not in told)


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "nonsense\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_a_containers_limit_counts_and_not_its_hosts_cpus(
    tmp_path: Path, files: dict[str, str], cpus: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert quota(tmp_path) == cpus
    assert cpus_here() >= 1
