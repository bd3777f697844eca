"""From one row per session to complete rounds: the only thing that comparisons look at.

A round is one seed x every scenario x every live variant, and rounds are launched in order. Looking
at whatever has completed favours quick sessions and hides slow failures, so only the *complete
prefix* counts: rounds 0, 1, 2, ... up to the first one with a session that is open or censored.

Inside the prefix every session has ended, and the unit is the pair: the sessions of two variants on
one scenario in one round. What becomes of a third variant does not touch it.
- An infrastructure error (``errored``) says nothing about a variant: the pair leaves everything.
- A product failure (``failed``) says a lot: it counts as a failure, has no score (whatever was
  recorded), and the pair leaves the score means of that round.
- A session stopped by a limit of its own (``timeout``) counts as a product failure too, but keeps
  its score; without one it is as ``failed``.
- A session without a score (``completed``, and nothing could be measured) costs its pair, no more:
  the pair leaves the score means of that round, is counted, and stays in the failures.
- A session that a look decided not to launch (``dropped``) was never at risk: its variant takes no
  part in that round or any later one, and nothing of the round waits for it.
A round's difference is over its remaining pairs, scenarios weighing equally over all rounds
(`matrix.stats.rounds.balancing`); a round without any is no observation.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from matrix.stats.rounds.round_table import (
    CENSORED,
    COMPLETED,
    DROPPED,
    ERRORED,
    FAILED,
    OPEN,
    OUTCOMES,
    TIMEOUT,
    BoolArray,
    FloatArray,
    PrefixEnd,
    RoundTable,
)

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Codes: TypeAlias = npt.NDArray[np.int8]


def complete_rounds(
    rounds: IntArray,
    scenarios: IntArray,
    variants: IntArray,
    scores: npt.NDArray[Any],
    outcomes: npt.NDArray[Any],
    *,
    n_rounds_planned: int,
    n_scenarios: int,
    n_variants: int,
) -> RoundTable:
    """Find the complete prefix of rounds in long data, one row per session, in any order.

    Args:
        rounds: Launch number of each session's round from 0, shape [m].
        scenarios: Scenario index from 0, shape [m].
        variants: Variant index from 0, shape [m].
        scores: Score of each session, NaN where it has none, shape [m]. Read for ``completed`` and
            ``timeout`` only; an infinite one counts as missing.
        outcomes: Names from `OUTCOMES`, or their codes as integers, shape [m]. A variant with a
            ``dropped`` session is dropped from all of that round and all later ones; sessions
            of it there may be given as ``dropped`` or left out, which means the same.
        n_rounds_planned: Rounds in the plan, R.
        n_scenarios: Scenarios in every round, S.
        n_variants: Variants in every round, k.

    Raises:
        ValueError: If lengths differ, an index is out of the plan's range, an outcome is unknown,
            one session has two rows, or a variant has another outcome in a round from which it
            is dropped.
    """
    shape = (n_rounds_planned, n_scenarios, n_variants)
    if n_rounds_planned < 0 or min(shape[1:]) < 1:
        raise ValueError(f"a plan has rounds, scenarios and variants; got {shape}")
    status, value = _lay_out(shape, (rounds, scenarios, variants), scores, outcomes)
    live = _live_rounds(status)
    length, end = _find_prefix(status, live)

    failed = (status[:length] == FAILED) | (status[:length] == TIMEOUT)
    counts = [(status == code).sum(axis=(0, 1)) for code in range(OPEN + 1)]
    return RoundTable(
        n_rounds_planned=n_rounds_planned,
        n_scenarios=n_scenarios,
        n_variants=n_variants,
        prefix_length=length,
        prefix_end=end,
        live=_frozen(live[:length]),
        scores=_frozen(value[:length]),
        failed=_frozen(failed),
        errored=_frozen(status[:length] == ERRORED),
        outcome_counts=_frozen(np.stack(counts, axis=1).astype(np.int64)),
    )


def _lay_out(
    shape: tuple[int, int, int],
    indices: tuple[IntArray, IntArray, IntArray],
    scores: npt.NDArray[Any],
    outcomes: npt.NDArray[Any],
) -> tuple[Codes, FloatArray]:
    """Outcome codes and scores as dense arrays over the plan, shape [R, S, k] each."""
    columns = [np.asarray(index) for index in indices]
    codes, found = outcome_codes(outcomes), np.asarray(scores, dtype=np.float64)
    if len({column.shape for column in (*columns, codes, found)}) != 1 or found.ndim != 1:
        raise ValueError("rounds, scenarios, variants, scores and outcomes need one equal length")
    for name, column, size in zip(("round", "scenario", "variant"), columns, shape, strict=True):
        if column.size and not (column.min() >= 0 and column.max() < size):
            raise ValueError(f"a {name} index lies outside the plan's 0 to {size - 1}")

    place = tuple(column.astype(np.intp) for column in columns)
    status: Codes = np.full(shape, OPEN, dtype=np.int8)
    status[place] = codes
    if int((status != OPEN).sum()) != codes.size:
        raise ValueError("two rows for one session; keep its final outcome only")
    value = np.full(shape, np.nan)
    scored = (codes == COMPLETED) | (codes == TIMEOUT)
    value[place] = np.where(scored & np.isfinite(found), found, np.nan)
    return status, value


def outcome_codes(outcomes: npt.NDArray[Any]) -> Codes:
    """Codes of outcomes given by name or, already, by code; raises ``ValueError`` on others."""
    given = np.asarray(outcomes)
    if given.dtype.kind in "iu" or given.size == 0:
        codes: Codes = given.astype(np.int8)
        known = (given >= 0) & (given < OPEN) if given.size else np.ones(given.shape, np.bool_)
    else:
        codes = np.full(given.shape, -1, dtype=np.int8)
        for code, name in enumerate(OUTCOMES):
            codes[given == name] = code
        known = codes >= 0
    if not known.all():
        unknown = str(given[~known].ravel()[0])
        raise ValueError(f"unknown outcome {unknown!r}; known are {', '.join(OUTCOMES)}")
    return codes


def _live_rounds(status: Codes) -> BoolArray:
    """Which variants take part in which rounds, shape [R, k]; marks absent rows of others dropped.

    Raises:
        ValueError: If a variant that is dropped from a round has another outcome in it or later.
    """
    dropped = np.logical_or.accumulate((status == DROPPED).any(axis=1), axis=0)
    gone = np.broadcast_to(dropped[:, None, :], status.shape)
    wrong = gone & (status != DROPPED) & (status != OPEN)
    if wrong.any():
        round_, scenario, variant = (int(index[0]) for index in np.nonzero(wrong))
        raise ValueError(
            f"variant {variant} is dropped from round {int(dropped[:, variant].argmax())} on, but "
            f"is {OUTCOMES[status[round_, scenario, variant]]} in round {round_}, scenario "
            f"{scenario}; a variant is dropped from whole rounds, and never comes back"
        )
    status[gone] = DROPPED
    return np.asarray(~dropped)


def _find_prefix(status: Codes, live: BoolArray) -> tuple[int, PrefixEnd]:
    """Number of rounds before the first that is not complete, and what is wrong with that one."""
    blockers: list[tuple[PrefixEnd, BoolArray]] = [
        ("stopped", np.asarray(~live.any(axis=1))),
        ("censored session", (status == CENSORED).any(axis=(1, 2))),
        ("open session", (status == OPEN).any(axis=(1, 2))),
    ]
    blocked = np.logical_or.reduce([rounds for _, rounds in blockers])
    if not blocked.any():
        return status.shape[0], "plan complete"
    length = int(blocked.argmax())
    return length, next(reason for reason, rounds in blockers if rounds[length])


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    result = array.copy()
    result.setflags(write=False)
    return result
