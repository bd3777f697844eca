"""What is shown of a run while it goes on: laws of the value, its line and its drawing."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from matrix.admission.ledger import Balance
from matrix.cli.live_table import LiveTable
from matrix.cli.so_far import per_time, progress_line, so_far
from matrix.engine.run.progress import FailedSoFar, Progress, VariantSoFar
from matrix.engine.wire.messages import Counters, Picture
from matrix.model.lines import harmless
from matrix.model.records import OUTCOMES

STRANGE = st.text(max_size=30) | st.sampled_from(["\x1b]0;owned\x07", "a\nb", "[red]x[/]", "名前"])
WHOLE = st.integers(0, 100_000)
MONEY = st.integers(0, 10**12)
SCORE = st.floats(-1e3, 1e3)


@st.composite
def variants(draw: st.DrawFn) -> VariantSoFar:
    level, n = draw(STRANGE), draw(WHOLE)
    if not n:
        return VariantSoFar(level, 0, None, None, None, draw(WHOLE))
    low, mean, high = sorted(draw(st.tuples(SCORE, SCORE, SCORE)))
    return VariantSoFar(level, n, mean, low, high, n + draw(WHOLE))


@st.composite
def moments(draw: st.DrawFn) -> Progress:
    outcomes = {outcome: draw(WHOLE) for outcome in OUTCOMES}
    ended = sum(outcomes.values())
    unplayed = draw(WHOLE)
    failed = st.builds(FailedSoFar, STRANGE, st.sampled_from(OUTCOMES), STRANGE, STRANGE)
    counters = Counters(*draw(st.tuples(*[WHOLE] * 11)))
    counters = counters._replace(trouble=draw(STRANGE), oldest_s=draw(st.floats(0, 1e6)))
    return Progress(
        elapsed_s=draw(st.floats(0, 1e6)),
        planned=ended + unplayed + draw(WHOLE),
        opened=ended,
        open=draw(WHOLE),
        outcomes=outcomes,
        picture=Picture(Balance(*draw(st.tuples(*[MONEY] * 5))), counters, 0, {}),
        calls_per_s=draw(st.floats(0, 1e5)),
        variants=tuple(draw(st.lists(variants(), max_size=4))),
        eta_s=draw(st.none() | st.floats(0, 1e6)),
        draining=draw(st.booleans()),
        unplayed=unplayed,
        looks=draw(st.booleans()),
        looked=draw(WHOLE),
        failed=draw(st.none() | failed),
    )


def drawn(progress: Progress, width: int, *, colour: bool = False) -> str:
    """The live table as it is written."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    with console.capture() as captured:
        console.print(LiveTable(so_far(progress)))
    return captured.get()


@given(moments())
def test_no_text_of_a_stranger_breaks_a_line_or_drives_the_terminal(progress: Progress) -> None:
    shown = so_far(progress)
    texts = [shown.heading, progress_line(progress)]
    texts += [text for fact in shown.facts for text in fact]
    texts += [text for row in shown.variants for text in row]
    assert all(harmless(text) == text and "\n" not in text for text in texts)


@given(moments(), st.sampled_from([40, 80, 200]))
def test_every_line_fits_into_the_columns_that_there_are(progress: Progress, width: int) -> None:
    assert all(cell_len(line) <= width for line in drawn(progress, width).splitlines())


@given(moments())
def test_colour_changes_nothing_of_what_is_written(progress: Progress) -> None:
    plain, coloured = drawn(progress, 80), drawn(progress, 80, colour=True)
    words = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    unbarred = [re.sub("[━╸╺]+", "", text).split() for text in (plain, words)]
    assert unbarred[0] == unbarred[1]
    assert "\x1b" not in plain


@given(moments())
def test_the_table_and_the_line_say_the_same_of_money_and_sessions(progress: Progress) -> None:
    told = dict(so_far(progress).facts)
    line = progress_line(progress)
    assert f"{progress.ended:,}/{progress.to_play:,} sessions" in line
    assert told["sessions"].startswith(f"{progress.ended:,} of {progress.to_play:,} ended")
    for amount in re.findall(r"\$[\d.,]+", told["money"]):
        assert amount in line
    assert ("failure" in told) == (progress.failed is not None) == ("newest failure" in line)


@given(moments())
def test_a_run_that_drains_promises_no_time(progress: Progress) -> None:
    shown = so_far(progress)
    assert (shown.eta == "") == (progress.eta_s is None or progress.draining)


BALANCE = Balance(cap=5 * 10**9, settled=10**9, presumed=0, held=250_000_000, overrun=0)


def moment(**more: object) -> Progress:
    """A run in the middle of its sessions."""
    counters = Counters(answered=3, attempts=11, retries=1, in_flight=8, turns=2, oldest_s=130.0)
    failed = FailedSoFar("0bcd66e8bb38bd8c", "errored", "ProviderTimeout", "no answer in 60 s")
    base: dict[str, object] = {
        "elapsed_s": 250.0,
        "planned": 12,
        "opened": 6,
        "open": 4,
        "outcomes": dict.fromkeys(OUTCOMES, 0) | {"completed": 1, "errored": 1},
        "picture": Picture(BALANCE, counters._replace(trouble="mine x: 503: busy"), 0, {}),
        "calls_per_s": 0.012,
        "variants": (
            VariantSoFar("baseline", 1, 61.3, None, None, 6),
            VariantSoFar("pulse-aware", 0, None, None, None, 6),
        ),
        "eta_s": 1250.0,
        "draining": False,
        "failed": failed,
    }
    return Progress(**(base | more))  # type: ignore[arg-type]


TABLE = """\
running 4 min 10 s   ETA 20 min 50 s
━━━━━━━━━━
sessions  2 of 12 ended (1 completed, 1 errored), 4 open
calls     3 answered, 0.7 calls/min, 8 in flight (the oldest for 2 min 10 s), 0
          waiting; 2 turns
money     $1.00 spent (20%) + $0.25 held of a cap of $5.00
trouble   0 429s, 1 retries (newest: mine x: 503: busy)
failure   newest: session 0bcd66e8bb38bd8c, ProviderTimeout: no answer in 60 s
so far (no verdict before the end):
baseline     61.3  -  n = 1 of 6
pulse-aware     -  -  n = 0 of 6
"""
NARROW = """\
running 4 min 10 s   ETA 20 min 50 s
━━━━━━╸
sessions  2 of 12 ended (1 completed, 1
          errored), 4 open
calls     3 answered, 0.7 calls/min, 8
          in flight (the oldest for 2
          min 10 s), 0 waiting; 2 turns
money     $1.00 spent (20%) + $0.25 held
          of a cap of $5.00
trouble   0 429s, 1 retries (newest:
          mine x: 503: busy)
failure   newest: session
          0bcd66e8bb38bd8c,
          ProviderTimeout: no answer in
          60 s
so far (no verdict before the end):
baseline     61.3  n = 1 of 6
pulse-aware     -  n = 0 of 6
"""


@pytest.mark.parametrize(("width", "table"), [(80, TABLE), (40, NARROW)])
def test_a_slow_run_as_it_is_drawn(width: int, table: str) -> None:
    assert [line.rstrip() for line in drawn(moment(), width).splitlines()] == table.splitlines()


def test_a_slow_run_in_one_line() -> None:
    assert progress_line(moment()) == (
        "[4 min 10 s] 2/12 sessions; 4 open; 1 errored; 2 turns; 0.7 calls/min; 8 calls in flight "
        "(the oldest for 2 min 10 s); spent $1.00 + held $0.25 of $5.00; 0 429s, 1 retries "
        "(newest: mine x: 503: busy); newest failure: session 0bcd66e8bb38bd8c, ProviderTimeout: "
        "no answer in 60 s; ETA 20 min 50 s"
    )


def test_what_is_in_flight_grows_older_between_two_pictures() -> None:
    before, after = (dict(so_far(moment(), later_s=later).facts)["calls"] for later in (0.0, 30.0))
    assert "the oldest for 2 min 10 s" in before
    assert "the oldest for 2 min 40 s" in after
    assert so_far(moment(), later_s=30.0).elapsed == "4 min 40 s"


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0 calls/s"),
        (4823.4, "4,823 calls/s"),
        (9.9, "9.9 calls/s"),
        (0.012, "0.7 calls/min"),
        (0.0005, "0.0 calls/min"),
    ],
)
def test_a_rate_has_a_unit_in_which_it_can_be_read(rate: float, text: str) -> None:
    assert per_time(rate, "calls") == text
