"""Why a process died, from what Ray says of it: only a node that is gone is one."""

from __future__ import annotations

import pytest

from matrix_actors.supervisor import NODE_GONE, UNREACHABLE, cause_of, is_of_node

KILLED = (
    "The actor died unexpectedly before finishing this task. The actor is dead because its worker "
    "process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly "
    "exits with a connection error code 2. End of file. If the process was killed by the kernel "
    "OOM killer (verifiable by checking for OOM in dmesg of the OOMing node), consider enabling "
    "resource isolation to prevent node deaths by resource contention"
)
"""What Ray 2.60 says of a process that was killed, with its advice."""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (KILLED, "it was killed, or crashed"),
        ("The actor died because its node has died. Node Id: 12ab", NODE_GONE),
        ("The actor is temporarily unavailable: IOError: 14", UNREACHABLE),
    ],
)
def test_a_killed_process_says_nothing_of_its_node(said: str, cause: str) -> None:
    assert cause_of(RuntimeError(said)) == cause
    assert is_of_node(cause) is (cause != "it was killed, or crashed")
