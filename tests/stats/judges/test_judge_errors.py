"""A judge that errs differently for two variants is shown to, and one that errs alike is not."""

from __future__ import annotations

import numpy as np
import pytest

from matrix.stats import newcombe_paired
from matrix.stats.judges.judge_errors import Rated, error_interval, errors_apart


def rated(people: object, judge: object) -> Rated:
    return Rated(np.asarray(people, dtype=float), np.asarray(judge, dtype=float))


def test_an_error_that_never_varies_is_shown_from_as_many_labels_as_chance_would_need() -> None:
    """1 / C(12, 3) of random splits are so clean, and 2 / C(6, 3)."""
    for n, m, shown in [(3, 3, False), (4, 4, True), (3, 9, True), (2, 8, True), (2, 5, True),
                        (2, 4, False), (1, 40, False), (24, 24, True)]:  # fmt: skip
        found = errors_apart(rated([5.0] * n, [4.0] * n), rated([2.0] * m, [4.0] * m))
        assert found is not None
        assert (found.difference, found.interval, found.shown) == (-3.0, None, shown), (n, m)
    alike = errors_apart(rated([5.0] * 20, [4.9] * 20), rated([2.2] * 20, [2.1] * 20))
    assert alike is not None
    assert not alike.shown  # 5 - 4.9 and 2.2 - 2.1 differ by rounding alone
    assert errors_apart(rated([], []), rated([1.0], [1.0])) is None


def test_verdicts_have_an_interval_where_no_error_varies() -> None:
    """A judge that passes all of a variant that people fail, and agrees on the other."""
    fair, unfair = rated([1] * 9 + [0] * 16, [1] * 9 + [0] * 16), rated([0] * 25, [1] * 25)
    assert error_interval(unfair) == newcombe_paired(0, 25, 0, 0)
    found = errors_apart(unfair, fair)
    assert found is not None
    assert found.interval is not None
    assert found.shown
    assert 0.0 < found.interval.low < found.difference == 1.0
    few = errors_apart(rated([0], [1]), rated([0], [0]))
    assert few is not None
    assert not few.shown


def test_newcombe_joins_two_paired_differences_by_squaring_and_adding() -> None:
    """Each end lies as far off as the hypotenuse of how far the ends of the two lie off."""
    first, second = rated([1, 0] * 10, [1, 1] * 10), rated([1, 0] * 10, [0, 1] * 10)
    found, a, b = errors_apart(first, second), error_interval(first), error_interval(second)
    assert found is not None
    assert found.interval is not None
    assert a is not None
    assert b is not None
    assert (0.5 - found.interval.low) ** 2 == pytest.approx((0.5 - a.low) ** 2 + b.high**2)
    assert (found.interval.high - 0.5) ** 2 == pytest.approx((a.high - 0.5) ** 2 + b.low**2)


@pytest.mark.parametrize("n", [6, 25])
@pytest.mark.parametrize("scale", [(0.0, 1.0), (1.0, 2.0, 3.0, 4.0, 5.0)])
def test_a_judge_that_errs_alike_is_seldom_called_different(
    scale: tuple[float, ...], n: int
) -> None:
    """2,000 runs in which it is wrong one time in ten: .05 and three standard errors at most."""
    rng = np.random.default_rng(7)
    people = rng.choice(scale, (2000, 2, n))
    judge = np.where(rng.random(people.shape) < 0.1, rng.choice(scale, people.shape), people)
    shown = 0
    for one in range(2000):
        first, second = (rated(people[one, side], judge[one, side]) for side in (0, 1))
        found = errors_apart(first, second)
        assert found is not None
        shown += found.shown
    assert shown / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5
