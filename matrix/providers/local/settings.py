"""How local models are run: plain data, picklable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from matrix.model.records import CallParams

SLOTS = 2
"""Calls that one model answers at once unless told otherwise."""
MOST_SLOTS = 8
"""More calls at once make a processor no faster, and each takes memory for its own context."""
MAX_DEFAULT_THREADS = 4
"""More threads make a model of this size no faster."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Settings of the local models of one process.

    Attributes:
        models: Model name as calls carry it -> ``local/...`` name. Names that are not listed
            stand for themselves.
        slots: Calls that one model answers at once; more wait their turn. Every slot takes memory
            for its own context.
        context: Tokens that one slot can hold, messages and answer together; a model that was
            trained on fewer gets fewer.
        threads: Threads that compute; at most four if left out, and no more than there are cores.
        cache_mib: Memory for prompts that were read before, in MiB; histories are resent on every
            turn and reading them again would take most of the time.
        timeout_s: Longest time for one answer, in seconds, waiting for a slot not counted.
        longest_text: Tokens after which free text ends, however many a call allows: a model this
            small goes on until it is stopped, and every later prompt repeats what it said. Answers
            that follow a schema may have all they were allowed.
        repeatable: Gives the same answer to the same call and seed: one slot and no cache, because
            a prompt that is read in other portions gives slightly different numbers.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    slots: int = SLOTS
    context: int = 8_192
    threads: int | None = None
    cache_mib: int = 512
    timeout_s: float = 900.0
    longest_text: int = 96
    repeatable: bool = False

    @property
    def open_slots(self) -> int:
        """Calls at once, after ``repeatable``."""
        return 1 if self.repeatable else min(MOST_SLOTS, self.slots)

    @property
    def used_threads(self) -> int:
        """Threads, after the default."""
        return self.threads or min(MAX_DEFAULT_THREADS, usable_cores())

    def bounded(self, params: CallParams) -> CallParams:
        """A call's parameters with the length of free text bounded."""
        if params.schema is not None:
            return params
        return params._replace(max_tokens=min(params.max_tokens, self.longest_text))


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
