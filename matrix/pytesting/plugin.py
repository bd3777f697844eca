"""Options of pytest, and what they load; with none of them given, nothing else is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matrix.pytesting import SESSIONS

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """What can be said of scenarios."""
    group = parser.getgroup("matrix", "scenarios of matrix")
    add = group.addoption
    add("--matrix", action="store_true", help="Play functions with @matrix.scenario as tests.")
    add(
        "--matrix-sessions",
        type=int,
        metavar="N",
        help=f"Sessions of each scenario; {SESSIONS} if left out.",
    )
    add(
        "--matrix-max-cost",
        type=float,
        metavar="USD",
        help="What each may cost at most; has to be said where real models are asked.",
    )
    add("--matrix-model", action="append", metavar="ROLE=MODEL", help="Model that plays a role.")
    add(
        "--matrix-threshold",
        action="append",
        metavar="METRIC=X",
        help="Least mean or pass rate, over what the scenario declares.",
    )
    add(
        "--matrix-baseline",
        metavar="FILE",
        help="What `matrix export --to csv` wrote of a run that must not be worse.",
    )
    add("--matrix-margin", type=float, metavar="X", help="How much worse than it may be.")
    add(
        "--matrix-fail-undecided",
        action="store_true",
        help="Too little data to decide is a failure, and not a skipped test.",
    )
    add("--matrix-results", metavar="DIR", help="Folder of runs; results if left out.")


def pytest_configure(config: pytest.Config) -> None:
    """Have scenarios collected, if they are to be.

    Raises:
        pytest.UsageError: An option is of no use.
    """
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in vars(config.option).items()
        if name.startswith("matrix_") and value not in (None, False)
    ]
    if config.getoption("--matrix"):
        from matrix.pytesting.collecting import Scenarios

        config.pluginmanager.register(Scenarios(config), "matrix-scenarios")
    elif given:
        import pytest

        raise pytest.UsageError(f"{given[0]} goes with --matrix")
