"""What importing and using the package costs."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
import numpy
before = set(sys.modules)
import matrix.stats
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert not loaded & {"scipy", "pandas", "hypothesis"}, loaded
inside = {name for name in sys.modules if name.startswith("matrix.")}
assert all(name.startswith("matrix.stats") for name in inside - {"matrix.version"}), inside
matrix.stats.RunningMean().summary()
live = matrix.stats.RunningMean()
live.add(1.0)
live.add(2.0)
live.summary()
matrix.stats.wilson(3, 4), matrix.stats.clopper_pearson(3, 4), matrix.stats.mcnemar(1, 7)
assert "scipy.stats" not in sys.modules
for name in matrix.stats.__all__:
    getattr(matrix.stats, name)
"""


def test_importing_loads_no_scipy_and_nothing_else_of_matrix_and_using_it_no_scipy_stats() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
