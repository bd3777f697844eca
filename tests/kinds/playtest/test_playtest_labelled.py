"""The detectors against transcripts that somebody has read: what they find, and invent."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.detectors import (
    FOLDER,
    TYPES,
    Finding,
    Label,
    Transcript,
    Turn,
    false_alarms,
    missed,
    read_set,
    reported,
    tallied,
)

PRECISION, RECALL = 0.9, 0.8
SECOND = "more-*.yaml"
"""What a second author wrote, in other styles: the recall of patterns is not promised there."""


@cache
def played(files: str) -> list[tuple[Transcript, list[Finding]]]:
    return [(one, reported(one)) for one in read_set(FOLDER / "development", files)]


def of_the_first() -> list[tuple[Transcript, list[Finding]]]:
    second = {one.id for one, _ in played(SECOND)}
    return [(one, found) for one, found in played("*.yaml") if one.id not in second]


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_each_detector_finds_most_of_the_development_set_and_little_else(name: str) -> None:
    tally = tallied(of_the_first(), (name,))
    assert tally.precision is not None
    assert tally.recall is not None
    assert tally.precision >= PRECISION
    assert tally.recall >= RECALL


@pytest.mark.slow
def test_little_is_reported_wrongly_of_a_second_author() -> None:
    tally = tallied(played(SECOND))
    assert tally.precision is not None
    assert tally.precision >= PRECISION


@pytest.mark.slow
def test_half_of_the_development_set_is_clean_and_its_names_say_nothing() -> None:
    transcripts = [one for one, _ in played("*.yaml")]
    assert len({one.id for one in transcripts}) == len(transcripts) >= 60
    clean = sum(not one.labels for one in transcripts)
    assert 0.4 <= clean / len(transcripts) <= 0.6


def test_a_finding_one_turn_off_is_a_hit_and_one_of_another_type_is_not() -> None:
    turns = tuple(Turn(narrator="You wait.") for _ in range(6))
    label = Label(type="loop", turn=3)
    one = Transcript(id="x", guide="", group=("A",), turns=turns, labels=(label,))
    assert missed(one, [Finding(4, "loop", "")]) == []
    assert missed(one, [Finding(5, "loop", ""), Finding(3, "stuck", "")]) == [label]
    assert false_alarms(one, [Finding(2, "loop", ""), Finding(2, "stuck", "")]) == [
        Finding(2, "stuck", "")
    ]
