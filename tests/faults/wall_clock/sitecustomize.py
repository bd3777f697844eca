"""With this folder on the path of Python, the machine's wall clock jumps, for that program only.

Python imports this module before anything else. Now and then the time is another, up to a month
from the true one in either direction.
"""

import os
import random
import time

_MONTH_S = 30 * 86_400.0
_true = time.time
_draw = random.Random(f"{os.environ.get('WALL_CLOCK_DRAW', '')} {os.getpid()}")
_off = [0.0]


def jumping() -> float:
    """Seconds since 1970, more or less."""
    if _draw.random() < 0.1:
        _off[0] = _draw.uniform(-_MONTH_S, _MONTH_S)
    return _true() + _off[0]


time.time = jumping
time.time_ns = lambda: int(jumping() * 1e9)
