"""Asking the governor something while it may die, hang, and be replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from matrix_actors.supervisor import Member, make_sure
from matrix_actors.waiting import patiently

PAUSE_S = 0.1
"""Pause before looking again whether the run can go on, while others are down."""


class Governed:
    """Questions to whoever governs now; while there is nobody, they wait for the next one."""

    def __init__(
        self,
        governor: Member,
        hang_s: float,
        *,
        give_up: Callable[[], None],
        on_death: Callable[[Member], None],
    ) -> None:
        """Nobody governs until :meth:`begin`.

        Args:
            governor: The place, whoever has it.
            hang_s: A governor that says nothing for so long is taken for dead.
            give_up: Raises, if there will be no other governor.
            on_death: Told that the governor is dead; :meth:`begin` is called for its successor.
        """
        self._governor, self._hang_s = governor, hang_s
        self._give_up, self._on_death = give_up, on_death
        self._up = asyncio.Event()

    def begin(self) -> None:
        """There is a governor, and it may be asked."""
        self._up.set()

    def end(self) -> None:
        """The governor is dead."""
        self._up.clear()

    async def ask(self, ask: Callable[[Any], Any]) -> Any:
        """Ask whoever governs now; ``ask`` is given the actor, as often as it takes."""
        from ray.exceptions import RayActorError, RayTaskError

        while True:
            await self._until_up()
            member = self._governor
            name = member.name  # by the time that it is known to be dead, it may have a successor
            try:
                return await patiently(ask(member.actor), self._hang_s)
            except RayTaskError as error:
                raise error.cause from None
            except TimeoutError:
                if member.name == name:
                    await make_sure(member)
            except RayActorError:
                pass
            if member.name == name:
                self.end()
                self._on_death(member)

    async def _until_up(self) -> None:
        while not self._up.is_set():
            self._give_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S):
                    await self._up.wait()
