"""The plan: a run spec expanded into cells, rounds and sessions. Pure and deterministic.

A *cell* is one scenario with one level of every factor. A *round* is one seed for every cell: all
variants of a round meet the same group, moods and draws, so that they can be compared as pairs.
Sessions are generated round by round and never held as one list: a plan of 100,000 sessions is a
few kilobytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from matrix.model.records import JSON, SessionPlan
from matrix.model.seeds import content_hash, derive_seed


@dataclass(frozen=True, slots=True)
class Cell:
    """One scenario with one level of every factor, joined with what its sessions need.

    ``prelude`` is the content that the shared preparation depends on (``None``: none needed).
    ``changed`` says what is other than in the session that cells of a continuation go on from.
    ``params`` are parameters of calls by role; ``prelude_params`` those that every cell shares,
    because levels of factors must not reach what variants share.
    """

    scenario: str
    kind: str
    levels: Mapping[str, str]
    options: JSON
    roles: Mapping[str, str]
    resources: Mapping[str, str]
    prelude: JSON | None
    changed: str = ""
    params: Mapping[str, JSON] = field(default_factory=dict)
    prelude_params: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Content hash of everything that decides what a session of this cell is."""
        return content_hash(
            [
                self.kind,
                self.scenario,
                dict(self.levels),
                self.options,
                dict(self.roles),
                dict(self.resources),
                *([dict(self.params)] if self.params else []),
            ]
        )


class Origin(NamedTuple):
    """A moment that sessions go on from: a session of some run after one of its turns.

    ``seed`` and ``prelude_id`` are the parent's. ``round`` is the round that its session was in,
    where sessions that are over are only judged again, and stay in it; else -1.
    """

    run_id: str
    session_id: str
    turn: int
    seed: int
    prelude_id: str | None
    round: int = -1


class Continued(NamedTuple):
    """What makes a plan one of continuations: where they start, and how often each is played.

    ``own_seed``: the first repeat keeps the parent's seed (a replay). All others get one of their
    own, the same for every variant, which no session of the parent's run has.
    """

    origins: tuple[Origin, ...]
    repeats: int
    own_seed: bool

    def seed(self, origin: Origin, repeat: int) -> int:
        """The seed of repeat number ``repeat`` (from 1) at an origin."""
        if self.own_seed and repeat == 1:
            return origin.seed
        return derive_seed("branch", origin.seed, origin.turn, repeat)


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """One round: preludes first, then one session per cell (fewer in a last, partial round)."""

    number: int
    preludes: tuple[SessionPlan, ...]
    sessions: tuple[SessionPlan, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run, as a generator of rounds.

    Attributes:
        cells: Every cell, in launch order within a round: scenario by scenario, so that a
            partial last round still holds whole scenarios wherever it can.
        sessions: Sessions in all.
        seed: The run's seed.
        continued: Where its sessions go on from. Then a round is one origin: its cells, which
            are its variants and stand together in ``cells``, each repeated.
    """

    cells: tuple[Cell, ...]
    sessions: int
    seed: int
    max_turns: int
    max_session_s: float
    continued: Continued | None = None

    @property
    def rounds(self) -> int:
        """Rounds in all, a last partial one included."""
        if self.continued is not None:
            return len(self.continued.origins)
        return -(-self.sessions // len(self.cells))

    @property
    def judged_again(self) -> bool:
        """Whether its sessions are over, and only judged again."""
        return self.continued is not None and self.continued.origins[0].round >= 0

    @property
    def variants(self) -> int:
        """Cells of one round."""
        return len(self.cells) // (len(self.continued.origins) if self.continued else 1)

    @property
    def round_size(self) -> int:
        """Sessions of a whole round."""
        return self.variants * (self.continued.repeats if self.continued else 1)

    def cell_index(self, order: int) -> int:
        """Which of the cells the session with this launch order belongs to."""
        if self.continued is None:
            return order % len(self.cells)
        number, rest = divmod(order, self.variants * self.continued.repeats)
        return number * self.variants + rest % self.variants

    def round(self, number: int) -> RoundPlan:
        """The sessions of round ``number`` (from 0).

        Raises:
            IndexError: There is no such round.
        """
        if not 0 <= number < self.rounds:
            raise IndexError(f"round {number}; the plan has {self.rounds}, counted from 0")
        if self.continued is not None:
            return self._continuations(self.continued, number)
        first = number * len(self.cells)
        count = min(len(self.cells), self.sessions - first)
        preludes: dict[str, SessionPlan] = {}
        sessions = []
        for index, cell in enumerate(self.cells[:count]):
            seed = derive_seed("session", self.seed, cell.scenario, number)
            prelude = self._prelude(cell, number, seed, first + index)
            if prelude is not None:
                prelude = preludes.setdefault(prelude.session_id, prelude)
            sessions.append(self._session(cell, number, seed, first + index, prelude))
        return RoundPlan(number, tuple(preludes.values()), tuple(sessions))

    def all_rounds(self) -> Iterator[RoundPlan]:
        """Every round in launch order."""
        return (self.round(number) for number in range(self.rounds))

    def _continuations(self, continued: Continued, number: int) -> RoundPlan:
        """Every variant of an origin with the first seed, then with the next, and so on."""
        origin, size = continued.origins[number], self.variants * continued.repeats
        sessions = []
        for order in range(number * size, (number + 1) * size):
            cell = self.cells[self.cell_index(order)]
            repeat = (order - number * size) // self.variants + 1
            seed = continued.seed(origin, repeat)
            identity = [origin.session_id, origin.turn, cell.id, seed, repeat, self.max_turns]
            planned = self._played(cell, number, seed, order)
            sessions.append(
                replace(
                    planned,
                    session_id=content_hash(["continuation", *identity]),
                    round=number if origin.round < 0 else origin.round,
                    prelude_id=origin.prelude_id,
                    parent_session_id=origin.session_id,
                    parent_turn=origin.turn,
                    parent_run=origin.run_id,
                    changed=cell.changed,
                    repeat=repeat,
                )
            )
        return RoundPlan(number, (), tuple(sessions))

    def _prelude(self, cell: Cell, number: int, seed: int, order: int) -> SessionPlan | None:
        if cell.prelude is None:
            return None
        shared = dict(cell.prelude_params)
        what = ["prelude", cell.kind, cell.scenario, cell.prelude, seed]
        identity = content_hash([*what, shared] if shared else what)
        planned = self._played(cell, number, seed, order)
        return replace(planned, session_id=identity, part="prelude", levels={}, params=shared)

    def _session(
        self, cell: Cell, number: int, seed: int, order: int, prelude: SessionPlan | None
    ) -> SessionPlan:
        planned = self._played(cell, number, seed, order)
        return planned if prelude is None else replace(planned, prelude_id=prelude.session_id)

    def _played(self, cell: Cell, number: int, seed: int, order: int) -> SessionPlan:
        """A session of a cell in a round, which shares nothing and goes on from nothing."""
        return SessionPlan(
            session_id=content_hash([cell.id, number, self.seed, self.max_turns]),
            part="play",
            order=order,
            round=number,
            seed=seed,
            scenario=cell.scenario,
            kind=cell.kind,
            levels=cell.levels,
            options=cell.options,
            roles=cell.roles,
            resources=cell.resources,
            prelude_id=None,
            max_turns=self.max_turns,
            max_session_s=self.max_session_s,
            params=cell.params,
        )


def combinations(factors: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Every combination of levels, the first factor varying slowest."""
    return [
        dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())
    ]
