"""What is asked of the gates of a run, as it is written on a command line or in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal, get_args

from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import did_you_mean
from matrix.model.spec.run_spec import RunSpec

FailOn = Literal["regression", "threshold", "not-enough-data"]
LATEST: Final = "latest"
"""A baseline that is the newest complete run of the same name, before the run that is gated."""

FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)
"""What can make a gate fail."""

MOST_ERRORED: Final = 0.2
"""Share of errored sessions, among those that ended, up to which a gate can pass."""


@dataclass(frozen=True, slots=True)
class GateWish:
    """What is to be gated.

    Attributes:
        baseline: The run to be no worse than, as people say it; ``None`` for no such gate.
        margin: How much worse the run may be, in units of the metric; ``None`` for that of the
            spec.
        thresholds: Metric -> least mean or rate; the largest where lower is better.
        fail_on: What makes the gate fail; the rest is only told.
        metric: What is compared with the baseline; ``None`` for the run's declared metric.
        allow_errored: Share of errored sessions, among those that ended, up to which a gate can
            pass.
    """

    baseline: str | None = None
    margin: float | None = None
    thresholds: Mapping[str, float] | None = None
    fail_on: frozenset[FailOn] = frozenset()
    metric: str | None = None
    allow_errored: float = MOST_ERRORED

    def margin_for(self, spec: RunSpec) -> float | None:
        """The margin that holds; that of the spec is only for its own metric."""
        own = self.metric in (None, spec.compare.metric)
        return self.margin or (spec.compare.margin if own else None)

    @property
    def anything(self) -> bool:
        """Whether there is a gate at all."""
        return self.baseline is not None or bool(self.thresholds)


def read_wish(
    baseline: str | None,
    margin: float | None,
    thresholds: Sequence[str],
    fail_on: Sequence[str],
    allow_errored: float | None = None,
) -> GateWish:
    """Read the options of a gate.

    Args:
        baseline: A run, as people say it.
        margin: How much worse the run may be.
        thresholds: ``NAME=VALUE`` each.
        fail_on: Any of `FAIL_ON`.
        allow_errored: Share of errored sessions up to which a gate can pass.

    Raises:
        BadInput: Every mistake.
    """
    mistakes = Mistakes()
    fault = mistakes.say
    found: dict[str, float] = {}
    for text in thresholds:
        name, value = _threshold(text)
        if not name or value is None:
            fault(
                "--threshold", f"found {text!r}; must be NAME=NUMBER, e.g. score=75 or failed=.05"
            )
        elif name in found:
            fault("--threshold", f"{name} is given twice; each metric once")
        else:
            found[name] = value
    for word in fail_on:
        if word not in FAIL_ON:
            hint = did_you_mean(word, FAIL_ON)
            fault("--fail-on", f"found {word!r}; can be {', '.join(FAIL_ON)}{hint}")
    if "regression" in fail_on and baseline is None:
        fault("--fail-on", "regression against what? name a run with --baseline")
    if "threshold" in fail_on and not thresholds:
        fault("--fail-on", "threshold of what? give one with --threshold, e.g. score=75")
    if "not-enough-data" in fail_on and baseline is None and not thresholds:
        fault("--fail-on", "not-enough-data for what? give a --baseline or a --threshold")
    if margin is not None and not (margin > 0 and isfinite(margin)):
        fault("--margin", f"found {margin:g}; must be above 0, in units of the metric")
    elif margin is not None and baseline is None:
        fault("--margin", "is for a gate against another run; name it with --baseline")
    if (said := share_fault(allow_errored)) is not None:
        fault(*said)
    elif allow_errored is not None and baseline is None and not thresholds:
        fault("--allow-errored", "is for a gate; give a --baseline or a --threshold")
    mistakes.stop_if_any()
    chosen = frozenset(word for word in FAIL_ON if word in fail_on)
    share = MOST_ERRORED if allow_errored is None else allow_errored
    return GateWish(baseline, margin, found, chosen, allow_errored=share)


def share_fault(allow_errored: float | None) -> tuple[str, str] | None:
    """Where and why a share of errored sessions is none."""
    if allow_errored is None or 0.0 <= allow_errored <= 1.0:
        return None
    told = f"found {allow_errored:g}; a share between 0 and 1, such as {MOST_ERRORED:g}"
    return "--allow-errored", told


def _threshold(text: str) -> tuple[str, float | None]:
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        return name.strip(), None
    return name.strip(), value if isfinite(value) else None
