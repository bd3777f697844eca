"""Ray metrics: every figure of a picture, under a name that Prometheus takes."""

from __future__ import annotations

import re

from matrix.admission.ledger import Balance
from matrix.engine.wire.messages import Counters, Picture
from matrix_actors.metrics import METRICS, SESSIONS, values_of

USD = 10**9
PICTURE = Picture(
    Balance(cap=100 * USD, settled=40 * USD, presumed=2 * USD, held=3 * USD, overrun=USD),
    Counters(answered=1, attempts=2, retries=3, rate_limited=4, turns=5, waiting=6, in_flight=7,
             tokens_in=8, tokens_out=9),
    0,
    {},
)  # fmt: skip


def test_a_picture_gives_every_metric_its_value() -> None:
    assert values_of(PICTURE) == {
        "matrix_cap_usd": 100.0,
        "matrix_spent_usd": 42.0,
        "matrix_presumed_usd": 2.0,
        "matrix_held_usd": 3.0,
        "matrix_overrun_usd": 1.0,
        "matrix_calls": 1,
        "matrix_attempts": 2,
        "matrix_retries": 3,
        "matrix_rate_limited": 4,
        "matrix_turns": 5,
        "matrix_waiting": 6,
        "matrix_in_flight": 7,
        "matrix_tokens_in": 8,
        "matrix_tokens_out": 9,
    }
    assert [name for name, _, _ in METRICS] == list(dict.fromkeys(name for name, _, _ in METRICS))
    assert {name for name, _, _ in METRICS} == values_of(PICTURE).keys()


def test_names_are_prometheus_names_and_every_metric_says_what_it_is() -> None:
    for name, kind, text in (*METRICS, SESSIONS):
        assert re.fullmatch(r"matrix_[a-z_]+", name)
        assert kind in ("gauge", "count")
        assert text.endswith(".")
