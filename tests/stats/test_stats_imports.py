"""What importing and using the package costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import sys
before = set(sys.modules)
import matrix.stats.estimates.running
assert "numpy" not in sys.modules
matrix.stats.RunningMean
import numpy
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert not loaded & {"scipy", "pandas", "hypothesis"}, loaded
inside = {name for name in sys.modules if name.startswith("matrix.")}
assert all(name.startswith("matrix.stats") for name in inside - {"matrix.version"}), inside
matrix.stats.RunningMean().summary()
live = matrix.stats.RunningMean()
live.add(1.0)
live.add(2.0)
live.summary()
matrix.stats.wilson(3, 4), matrix.stats.clopper_pearson_lower(3, 4), matrix.stats.mcnemar(1, 7)
matrix.stats.rounds_needed(0.5, 1.0), matrix.stats.fixed_threshold(9, 9, 0.9)
matrix.stats.gate_paired([1.0] * 10, range(10), 1.0), matrix.stats.welch([1, 2], [3, 5])
matrix.stats.cost_ratio([1, 2, 4], [2, 3, 3], numpy.random.default_rng(0))
matrix.stats.powered_mean([1, 2, 4, 4], [2, 3, 3, 4], [1])
matrix.stats.noise_shares(numpy.eye(4).reshape(4, 2, 2), [[1, 2]])
assert "scipy.stats" not in sys.modules
for name in matrix.stats.__all__:
    getattr(matrix.stats, name)
"""


@pytest.mark.slow
def test_importing_loads_no_scipy_and_nothing_else_of_matrix_and_using_it_no_scipy_stats() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
