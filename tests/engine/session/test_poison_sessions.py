"""Sessions that kill their workers are found; those that only sat beside them are spared."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from matrix.engine.executors.poison_sessions import PoisonDetector


def test_one_death_condemns_and_suspects_nobody() -> None:
    assert PoisonDetector().died({"a": 3, "b": None}, alone=False) == {"a": "again", "b": "again"}


def test_two_deaths_at_one_checkpoint_make_a_suspect_and_two_alone_an_end() -> None:
    detector = PoisonDetector()
    detector.died({"a": 3, "b": 3}, alone=False)
    assert detector.died({"a": 3, "b": 4}, alone=False) == {"a": "alone", "b": "again"}
    assert detector.died({"a": 3}, alone=True) == {"a": "alone"}
    assert detector.died({"a": 3}, alone=True) == {"a": "poisoned"}


def test_who_gets_further_begins_anew() -> None:
    detector = PoisonDetector()
    for turn in range(20):
        assert detector.died({"a": turn}, alone=turn > 10)["a"] in ("again", "alone")


def test_who_is_over_is_forgotten() -> None:
    detector = PoisonDetector()
    detector.died({"a": 3}, alone=False)
    detector.forget(["a", "nobody"])
    assert detector.died({"a": 3}, alone=False) == {"a": "again"}


@given(st.integers(0, 10_000))
def test_random_kills_condemn_no_innocent(seed: int) -> None:
    """Kills at random moments, between which every session usually gets on."""
    draw = random.Random(seed)
    detector, turns = PoisonDetector(), dict.fromkeys("abcdef", 0)
    for _ in range(30):
        turns = {name: turn + draw.choice([1, 2, 5]) for name, turn in turns.items()}
        assert "poisoned" not in detector.died(turns, alone=False).values()


def test_a_killer_is_condemned_and_its_companions_are_not() -> None:
    detector, poisoned = PoisonDetector(), set[str]()
    fates = dict.fromkeys("abcdk", "again")
    turns = dict.fromkeys(fates, 0)
    for _ in range(20):
        together = [name for name, fate in fates.items() if fate == "again"]
        if "k" in together:
            judged = detector.died({name: turns[name] for name in together}, alone=False)
            fates |= judged
        for name in [name for name, fate in fates.items() if fate == "alone"]:
            if name == "k":
                fates |= detector.died({"k": turns["k"]}, alone=True)
            else:
                turns[name] += 1
        poisoned |= {name for name, fate in fates.items() if fate == "poisoned"}
        for name in "abcd":
            turns[name] += fates[name] == "again" and "k" not in together
    assert poisoned == {"k"}
