"""The server's rate limits, in time that is handed in."""

from __future__ import annotations

import orjson
import pytest

from matrix.model.errors import BadInput
from matrix.serving.limits import show_duration
from matrix.serving.options import from_flags
from tests.serving.asking import Desk, request_body

ECHO = request_body(model="echo")


def test_a_burst_gets_in_and_the_next_is_told_when_to_come_back() -> None:
    desk = Desk(rpm=600, burst=10)
    assert [desk.ask(ECHO).status for _ in range(12)] == [200] * 10 + [429] * 2
    refused = desk.ask(ECHO)
    assert (refused.headers["retry-after"], refused.headers["retry-after-ms"]) == ("1", "100")
    assert orjson.loads(refused.parts[0])["error"]["code"] == "rate_limit_exceeded"
    desk.clock.now += 0.1
    assert [desk.ask(ECHO).status for _ in range(2)] == [200, 429]


def test_over_a_minute_exactly_the_limit_and_one_burst_get_in() -> None:
    desk = Desk(rpm=600, burst=10)
    for _ in range(6_000):
        desk.clock.now += 0.01
        desk.ask(ECHO)
    assert desk.service.stats.accepted == pytest.approx(610, abs=1)
    assert desk.service.stats.rate_limited == 6_000 - desk.service.stats.accepted


def test_over_a_minute_the_tokens_used_are_the_limit_and_one_burst() -> None:
    desk = Desk(tpm=6_000)
    for _ in range(6_000):
        desk.clock.now += 0.01
        desk.ask(ECHO)
    stats = desk.service.stats
    assert stats.tokens_in + stats.tokens_out == pytest.approx(6_600, abs=60)


def test_the_headers_of_every_answer_say_what_is_left() -> None:
    desk = Desk(rpm=600, burst=3, tpm=60_000)
    good = desk.ask(ECHO)
    bad = desk.ask(b"{")
    failed = desk.ask(ECHO, {"X-Matrix-Fault": "503"})
    left = [each.headers["x-ratelimit-remaining-requests"] for each in (good, bad, failed)]
    assert left == ["2", "2", "1"]
    assert good.headers["x-ratelimit-limit-requests"] == "600"
    assert good.headers["x-ratelimit-reset-requests"] == "100ms"
    used = desk.service.stats.tokens_in + desk.service.stats.tokens_out
    assert good.headers["x-ratelimit-limit-tokens"] == "60000"
    assert int(good.headers["x-ratelimit-remaining-tokens"]) == 300 - used
    assert good.headers["x-ratelimit-reset-tokens"] == f"{used}ms"


def test_without_limits_there_are_no_limit_headers() -> None:
    assert not [name for name in Desk().ask(ECHO).headers if name.startswith("x-ratelimit")]


def test_a_prompt_above_the_bucket_gets_in_when_it_is_full() -> None:
    desk = Desk(tpm=600)
    long = request_body(model="echo", messages=[{"role": "user", "content": "x" * 4000}])
    assert [desk.ask(long).status for _ in range(2)] == [200, 429]
    desk.clock.now += 120
    assert desk.ask(long).status == 200


def test_of_two_limits_that_are_used_up_the_longer_wait_is_told() -> None:
    desk = Desk(rpm=600, burst=1, tpm=60)
    assert desk.ask(ECHO).status == 200
    refused = desk.ask(ECHO)
    assert orjson.loads(refused.parts[0])["error"]["type"] == "tokens"
    used = desk.service.stats.tokens_in + desk.service.stats.tokens_out
    assert int(refused.headers["retry-after-ms"]) == used * 1000, "a token comes back every second"
    desk.clock.now += used
    assert desk.ask(ECHO).status == 200


def test_a_request_that_failed_gives_its_tokens_back() -> None:
    desk = Desk(tpm=60_000)
    outcome = desk.ask(ECHO, {"X-Matrix-Fault": "500"})
    assert outcome.headers["x-ratelimit-remaining-tokens"] == "6000"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (-1, "0ms"), (0.0121, "13ms"), (1, "1s"), (6.5, "6.5s"), (360, "6m0s")],
)
def test_durations_have_the_form_of_the_original(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"rpm": 0}, "--rpm"),
        ({"burst": 5}, "burst"),
        ({"port": 70_000}, "--port"),
        ({"faults": "no/such/file.yaml"}, "--faults"),
        ({"faults": "chances: {slwo: 0.5}"}, "did you mean 'slow'"),
        ({"faults": "chances: {slow: 0.7, cut: 0.7}"}, "1.4"),
        ({"faults": "schedule: [429, '429;retry-after=5', 4290]"}, "4290"),
        ({"faults": "chance: {}"}, "chances"),
        ({"simulation": "faults: {timeout: 0.5}"}, "timeout"),
        ({"simulation": "traits: {loop: 7}"}, "loop"),
    ],
)
def test_a_wrong_flag_is_named(flags: dict[str, object], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        from_flags(flags)
