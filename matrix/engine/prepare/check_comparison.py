"""Comparisons that cannot come to anything, found before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matrix.engine.prepare.judges import LISTED, names_of, questions_of
from matrix.engine.prepare.prepared import Prepared
from matrix.judging.repeats import REPEAT
from matrix.kinds.protocol import DeclaresGates, Kind, NamesScores
from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.metrics import FAILED, SESSION_METRICS
from matrix.stats.rounds.rules import MIN_ROUNDS


def check_comparison(prepared: Prepared, mistakes: Mistakes) -> None:
    """Collect what is wrong with the metric, and with stopping when it is decided."""
    metric = prepared.spec.compare.metric
    known = known_metrics(prepared.kind, [*names_of(prepared.spec), *_criteria(prepared)])
    if known is not None and metric not in known and not metric.startswith(REPEAT):
        mistakes.fault(
            ("compare", "metric"),
            f"found {metric!r}; sessions of the {prepared.kind.name} kind have: "
            f"{', '.join(known)}{did_you_mean(metric, list(known))}",
        )
    if known is not None and isinstance(prepared.kind, DeclaresGates):
        mistakes.add(
            Mistake(prepared.kind.name, None, f"thresholds[{name!r}]", _have(known, name))
            for name in prepared.kind.thresholds
            if name not in known
        )
    if prepared.spec.stop == "when-decided":
        _check_stopping(prepared, mistakes)
    if prepared.spec.compare.look_at_cap:
        _check_look_at_cap(prepared, mistakes)


def check_baseline(prepared: Prepared) -> None:
    """See that the file of results that a kind's runs are held against is there.

    A run does without it, and may be the one that the file is to be made of.

    Raises:
        BadInput: It is not.
    """
    kind = prepared.kind
    if not isinstance(kind, DeclaresGates) or kind.baseline is None or kind.baseline.is_file():
        return
    told = (
        f"there is no file {kind.baseline.name}; `matrix export RUN --to csv -o {kind.baseline}` "
        "writes one of a run of one variant"
    )
    raise BadInput([Mistake(kind.name, None, "baseline", told)])


def _have(known: Sequence[str], name: str) -> str:
    return f"found {name!r}; sessions have: {', '.join(known)}{did_you_mean(name, list(known))}"


def _criteria(prepared: Prepared) -> set[str]:
    """Scores that listed rubrics give, of their single criteria, too."""
    lists = {cell.resources[LISTED] for cell in prepared.plan.cells if LISTED in cell.resources}
    return {name for one in lists for name in questions_of({LISTED: prepared.resources[one]})}


def known_metrics(kind: Kind, listed: Iterable[str]) -> tuple[str, ...] | None:
    """What sessions of a kind can be compared on; ``None`` if the kind does not say.

    ``listed`` are the scores of judges that the run spec lists.
    """
    if not isinstance(kind, NamesScores):
        return None
    scores = {*kind.score_names, *listed} - set(SESSION_METRICS)
    return (*SESSION_METRICS, FAILED, *sorted(scores))


def _check_stopping(prepared: Prepared, mistakes: Mistakes) -> None:
    path = ("stop",)
    factor = prepared.compare_factor
    if factor is None or len(prepared.factors[factor]) < 2:
        mistakes.fault(
            path, "when-decided needs a factor with at least two levels; there is nothing to decide"
        )
    rounds = prepared.plan.sessions // len(prepared.plan.cells)
    if rounds < MIN_ROUNDS:
        mistakes.fault(
            path,
            f"when-decided first looks after {MIN_ROUNDS} rounds, and the plan has {rounds} whole "
            "ones; plan more sessions, or leave it at never",
        )
    if prepared.spec.engine == "fixed":
        mistakes.fault(
            ("compare", "engine"),
            "fixed looks once, when the plan is over, so it cannot stop before; use planned or "
            "open-ended, or `stop: never`",
        )


def _check_look_at_cap(prepared: Prepared, mistakes: Mistakes) -> None:
    path, factor = ("compare", "look_at_cap"), prepared.compare_factor
    if factor is None or len(prepared.factors[factor]) < 2:
        mistakes.fault(path, "needs a factor with at least two levels; there is nothing to compare")
    if prepared.spec.engine != "fixed":
        mistakes.fault(
            path,
            f"{prepared.spec.engine} looks after every round anyway; look_at_cap is for a plan "
            "that looks once (`engine: fixed`, `stop: never`)",
        )
