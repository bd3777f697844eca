"""What the journal can take. Checked where a value arises, so that it ends one session only.

The governor writes for every session at once; a value that no journal can hold must not get there.
"""

from __future__ import annotations

import orjson

from matrix.model.entries import TurnDone
from matrix.model.records import JSON

MAX_TROUBLE = 200
"""Characters kept of an error that is only shown while the run goes on."""

MAX_NAME = 200
"""Characters kept of the name by which a provider calls the model that answered."""

MAX_REASON = 2000
"""Characters of an error message that a row keeps."""


def check_turn(done: TurnDone) -> None:
    """Check what a kind gave for a checkpoint.

    Raises:
        TypeError: A value of another type than declared, or text that UTF-8 cannot carry.
    """
    added = (done.messages, done.events, done.scores, done.players)
    orjson.dumps([done.ended, [[list(item) for item in items] for items in added]])


def check_result(result: JSON) -> None:
    """Check what a prelude made.

    Raises:
        TypeError: It is no JSON.
    """
    orjson.dumps(result)
