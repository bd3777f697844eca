"""Order, conditions and the place where a failure began."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.criteria.chain import before, began, circle, in_order, needed, says
from matrix.kinds.criteria.settings import ChainLink, Condition

NAMES = [f"a{n}" for n in range(7)]


@st.composite
def chains(draw: st.DrawFn) -> dict[str, ChainLink]:
    """Links that read only such as come before them, written in any order."""
    links = []
    for place, name in enumerate(NAMES):
        reads = draw(st.lists(st.sampled_from(NAMES[:place] or [""]), unique=True, max_size=3))
        waits = draw(st.sampled_from([None, *NAMES[:place]]))
        when = None if waits is None else Condition(agent=waits, says="x")
        links.append(ChainLink(name=name, reads=tuple(filter(None, reads)), when=when))
    return {link.name: link for link in draw(st.permutations(links))}


@given(chains())
def test_everybody_comes_after_those_it_depends_on(chain: dict[str, ChainLink]) -> None:
    order = in_order(chain)
    assert sorted(order) == sorted(chain)
    for name in order:
        assert all(order.index(one) < order.index(name) for one in before(chain[name]))


@given(chains(), st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES)))
def test_what_is_needed_is_closed_but_for_what_is_given(
    chain: dict[str, ChainLink], requested: str, there: set[str]
) -> None:
    found = needed(chain, [requested], there)
    assert requested in found
    for name in found:
        assert set(before(chain[name])) <= found | there
    assert not (found - {requested}) & there


@given(chains(), st.sets(st.sampled_from(NAMES)))
def test_a_failure_began_where_nothing_before_it_failed(
    chain: dict[str, ChainLink], failed: set[str]
) -> None:
    begun = began(failed, chain)
    assert set(begun) <= failed
    assert bool(begun) is bool(failed)
    for name in failed:
        ancestors = needed(chain, before(chain[name]))
        assert (name in begun) is not bool(ancestors & failed)


def test_agents_that_wait_for_each_other_are_told_in_a_circle() -> None:
    chain = {
        "a": ChainLink(name="a", reads=("b",)),
        "b": ChainLink(name="b", when=Condition(agent="c", says="x")),
        "c": ChainLink(name="c", reads=("a",)),
    }
    found = circle(chain)
    assert found[0] == found[-1]
    assert set(found) == {"a", "b", "c"}
    assert circle({"a": ChainLink(name="a")}) == []


@pytest.mark.parametrize(
    ("output", "words", "said"),
    [
        ("Overall risk: HIGH", "overall risk: high", True),
        ("**Overall risk:** `HIGH`.", "Overall risk: HIGH", True),
        ("## Overall  risk :\n HIGH", "Overall risk: HIGH", True),
        ("Overall risk: HIGHER", "Overall risk: HIGH", False),
        ("Overall risk: not HIGH", "Overall risk: HIGH", False),
        ("", "x", False),
        ("a.b", "a+b", False),
    ],
)
def test_whether_an_output_says_it(output: str, words: str, said: bool) -> None:
    assert says(output, words) is said
