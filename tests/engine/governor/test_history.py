"""Folding a journal back: what a session and the run's money stand at."""

from __future__ import annotations

from dataclasses import replace

from matrix.engine.governor.history import fold_session
from matrix.engine.wire.messages import Counters
from matrix.model.entries import Disposition, Ended, Entry, Held, Opened, Settled, Tally, TurnDone
from matrix.model.records import Answer, CallKey, Message, Phase, Score, Usage
from tests.books import fold_money
from tests.engine.plans import MODEL, answer, ended, plan


def held(hold_id: int, turn: int = 1, attempt: int = 1, amount: int = 100) -> Held:
    key = CallKey("s1", "turn", turn, "0")
    return Held(hold_id, key, attempt, "counter", MODEL, amount, "w", 0.0)


def closed(
    hold: Held, disposition: Disposition = "settled", cost: int = 60, said: Answer | None = None
) -> Settled:
    return Settled(
        hold.hold_id, hold.key, hold.attempt, hold.role, MODEL, "digest", hold.amount,
        disposition, cost, Usage(20, 1), 0.0, 0.0, "", said, 0.0,
    )  # fmt: skip


def done(turn: int, phase: Phase = "turn") -> TurnDone:
    said = (Message("table", "x", f"{phase} {turn}", turn),)
    scores = (Score("score", turn / 10),)
    return TurnDone("s1", phase, turn, b"{}", said, (), scores, (), Tally(), None, (1, 1), 0.0)


def test_a_session_stands_at_its_newest_checkpoint_with_the_log_of_all_of_them() -> None:
    history = fold_session([Opened(plan(), 0.0), done(0, "start"), done(1), done(2)], prelude=["x"])
    assert history.plan == plan()
    assert history.snapshot.checkpoint == done(2)
    assert [message.text for message in history.snapshot.log] == ["start 0", "turn 1", "turn 2"]
    assert (history.snapshot.scores, history.snapshot.prelude) == ({"score": 0.2}, ["x"])


def test_answers_of_the_next_turn_are_kept_even_if_they_overtook_the_checkpoint() -> None:
    """They come from a provider client, by another way than the worker's checkpoint."""
    one, two = held(1, turn=1), held(2, turn=2)
    entries: list[Entry] = [
        one,
        closed(one, said=answer()),
        two,
        closed(two, said=answer("7")),
        done(1),
    ]
    history = fold_session([Opened(plan(), 0.0), *entries])
    assert [(key.turn, s.answer) for key, s in history.answers.items()] == [(2, answer("7"))]
    assert history.attempts == {two.key: 1}


def test_what_was_superseded_is_used_until_the_next_checkpoint_says_so_itself() -> None:
    one, again = held(1), held(2, attempt=2)
    opened: list[Entry] = [Opened(plan(), 0.0), one, closed(one, said=answer())]
    redone: list[Entry] = [*opened, Opened(plan(), 1.0, redo=True)]
    assert fold_session(opened).snapshot.used == Tally()
    assert fold_session(opened).used == Tally().plus("counter", answer())
    once = fold_session(redone)
    assert once.snapshot.used == once.used == Tally().plus("counter", answer())
    anew = fold_session([*redone, again, closed(again, said=answer("7"))])
    assert anew.snapshot.used == once.used
    assert anew.used == once.used.plus("counter", answer("7"))
    checkpoint = replace(done(1), tally=anew.used)
    after = fold_session([*redone, again, closed(again, said=answer("7")), checkpoint])
    assert after.snapshot.used == after.used == anew.used


def test_attempts_are_counted_whether_or_not_they_came_to_anything() -> None:
    entries: list[Entry] = [held(1), closed(held(1), "presumed", 100), held(2, attempt=2)]
    history = fold_session([Opened(plan(), 0.0), *entries])
    assert history.attempts == {held(1).key: 2}
    assert history.answers == {}


def test_a_session_that_is_opened_again_has_not_ended() -> None:
    end: Ended = ended("s1", "censored")
    assert fold_session([Opened(plan(), 0.0), end]).snapshot.done == end
    assert fold_session([Opened(plan(), 0.0), end, Opened(plan(), 1.0)]).snapshot.done is None


def test_money_is_what_each_attempt_was_last_said_to_cost() -> None:
    holds = [held(n) for n in range(1, 6)]
    entries: list[Entry] = [
        done(1),  # a turn before the session was opened is its parent's
        Opened(plan(), 0.0),
        *holds,
        closed(holds[0], "settled", 60, answer()),
        closed(holds[1], "presumed", 100),
        closed(holds[2], "released", 0),
        closed(holds[3], "presumed", 100),
        closed(holds[3], "settled", 30),  # usage that came late
        done(2),
    ]
    money = fold_money(entries)
    history = money.history
    assert money.open_holds == [holds[4]]
    assert (history.settled, history.presumed, history.last_hold_id) == (90, 100, 5)
    assert history.spent_by_role == {"counter": 190}
    assert history.counters == Counters(answered=1, attempts=5, turns=1, tokens_in=80, tokens_out=4)


def test_what_an_attempt_cost_above_its_hold_is_an_overrun_whether_or_not_it_answered() -> None:
    hold = held(1, amount=100)
    for said in (None, answer(cost=130)):
        over = closed(hold, "settled", 100, said)._replace(overrun=30)
        history = fold_money((hold, over)).history
        assert (history.settled, history.overrun) == (100, 30)
        assert history.inflation == {MODEL: 1.3}
