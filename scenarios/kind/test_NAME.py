"""`pytest` plays single sessions with answers that are written here: no run, no network."""

from matrix.testing import play

from NAME import NAME


def test_it_ends_once_the_customer_is_content():
    played = play(NAME, {"agent": "Restart it.", "customer": ["Hm.", "SOLVED!"]}, mood="calm")
    assert played.scores["resolved"] == 1
    assert played.scores["replies"] == 2


def test_it_gives_up_after_so_many_replies():
    played = play(NAME, {"agent": "Restart it.", "customer": "No."}, most=3)
    assert played.scores["resolved"] == 0
    assert [who for who, _ in played.said].count("agent") == 3
