"""How far a judge says what people say: agreement, where they differ, and what may be leant on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from matrix.model.seeds import derive_seed
from matrix.report.compare.judges.judge_bias import BiasDifference, BiasRow, bias_of
from matrix.stats import (
    AGREEMENT_WARN_BELOW,
    Interval,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
    wilson,
)
from matrix.store.shared.labels import JudgeId, Label, LabelledTranscript

ENOUGH: Final = 20
"""Labelled transcripts from which a judge counts as checked."""

_WORST_FIRST: Final = ("low", "unchecked", "few", "checked")
"""How a judge may stand."""

_NAMED: Final = 4
"""Judges of a score that are told of one by one."""

_MOST_VALUES: Final = 7
"""Different values up to which a confusion table is shown."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often people gave a value (rows) where the judge gave another (columns)."""

    values: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many, with an interval for the share (Wilson)."""

    count: int
    n: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """What labels say of a judge, for one score.

    Attributes:
        metric: The score.
        judges: Who judged, and by which rubrics.
        n: Transcripts that have a value of the judge and one of people.
        unread: Labelled transcripts that the judge gave no value for.
        raters: How many people labelled.
        kappa: Cohen's kappa, by squared distances; ``None`` where it is not defined.
        interval: For ``kappa``.
        alpha: Krippendorff's alpha of judge and people together, on equal steps.
        people_alpha: The same among people, where several labelled the same transcripts.
        people: Mean of what people say, on those transcripts: the base rate of a verdict.
        judge: Mean of what the judge says of them.
        confusion: ``None`` where there are too many different values.
        failed_wrongly: Of what people pass, how much the judge fails; ``None`` for points.
        wrong_among_failures: Of what the judge fails, how much people pass; ``None`` for points.
        passed_wrongly: Of what people fail, how much the judge passes; ``None`` for points.
        bias: By variant, where they are known.
        differs: Pairs of variants for which the judge errs differently, all pairs allowed for.
    """

    metric: str
    judges: tuple[JudgeId, ...]
    n: int
    unread: int
    raters: int
    kappa: float | None
    interval: Interval | None
    alpha: float | None
    people_alpha: float | None
    people: float | None
    judge: float | None
    confusion: Confusion | None
    failed_wrongly: Share | None
    wrong_among_failures: Share | None
    passed_wrongly: Share | None
    bias: tuple[BiasRow, ...]
    differs: tuple[BiasDifference, ...]

    @property
    def low(self) -> bool:
        """Whether it is not to be leant on: too unlike people, or these too unlike each other."""
        return self.people_differ or (self.kappa is not None and self.kappa < AGREEMENT_WARN_BELOW)

    @property
    def people_differ(self) -> bool:
        """Whether people agree with each other so little that their mean is no measure."""
        return people_differ(self.people_alpha)


def check_judge(
    metric: str, labels: Iterable[Label], variants: Mapping[LabelledTranscript, str] | None = None
) -> JudgeCheck:
    """Compare what judges and people say of the same transcripts.

    Several people's values of a transcript count as their mean, and a transcript counts once,
    however many runs have judged it again.

    Args:
        metric: The score.
        labels: Labels of it; others are passed over.
        variants: Session that was judged -> variant.
    """
    mine = [one for one in labels if one.metric == metric and one.value is not None]
    places, people, judge = _beside(mine)
    told = _of_judge(places)
    rng = np.random.default_rng(derive_seed("labels", metric))
    people_alpha = alpha_among_people(places)
    bias, differs = bias_of(people, judge, _levels(told, variants or {}))
    verdicts = bool(told) and set(people) | set(judge) <= {0.0, 1.0}
    return JudgeCheck(
        metric=metric,
        judges=tuple(sorted({one.judge for one in mine if one.judge_model})),
        n=len(told),
        unread=len(places) - len(told),
        raters=len({one.rater for one in mine}),
        kappa=cohen_kappa(people, judge) if told else None,
        interval=kappa_interval(people, judge, rng) if told else None,
        alpha=krippendorff_alpha([people, judge], "interval") if told else None,
        people_alpha=people_alpha,
        people=float(people.mean()) if told else None,
        judge=float(judge.mean()) if told else None,
        confusion=_confusion(people, judge),
        failed_wrongly=_share(judge == 0, people == 1) if verdicts else None,
        wrong_among_failures=_share(people == 1, judge == 0) if verdicts else None,
        passed_wrongly=_share(judge == 1, people == 0) if verdicts else None,
        bias=bias,
        differs=() if people_differ(people_alpha) else differs,
    )


def judge_differs(
    labels: Iterable[Label], variants: Mapping[LabelledTranscript, str]
) -> tuple[BiasDifference, ...]:
    """Pairs of variants for which a judge errs differently; none where people agree too little.

    Args:
        labels: Labels of one score.
        variants: Session that was judged -> variant.
    """
    places, people, judge = _beside(labels)
    if people_differ(alpha_among_people(places)):
        return ()
    return bias_of(people, judge, _levels(_of_judge(places), variants))[1]


def _beside(labels: Iterable[Label]) -> tuple[list[list[Label]], Floats, Floats]:
    """Labels by transcript and judge; and what people and judges say, where judges say anything."""
    places: dict[tuple[LabelledTranscript, JudgeId], list[Label]] = {}
    for one in labels:
        places.setdefault((one.transcript, one.judge), []).append(one)
    told = _of_judge(places.values())
    people = np.array([np.mean([one.value or 0.0 for one in group]) for group in told])
    judge = np.array([group[-1].judge_value for group in told], dtype=np.float64)
    return list(places.values()), people, judge


def _of_judge(places: Iterable[list[Label]]) -> list[list[Label]]:
    return [group for group in places if group[-1].judge_value is not None]


def _levels(
    told: Iterable[Sequence[Label]], variants: Mapping[LabelledTranscript, str]
) -> list[str]:
    return [variants.get(group[-1].place, "") for group in told]


def people_differ(alpha: float | None) -> bool:
    """Whether people agree with each other so little that their mean is no measure."""
    return alpha is not None and alpha < AGREEMENT_WARN_BELOW


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the judges of a score have been checked against people, in a word and a sentence.

    ``word`` is ``unchecked``, ``few`` (labels), ``low`` (agreement) or ``checked``.
    """

    word: str
    sentence: str
    kappa: float | None
    n: int


def standing_of(
    metric: str, judges: Collection[JudgeId], labels: Sequence[Label]
) -> Standing | None:
    """How judges stand, by all labels that there are of them; ``None`` where nobody judged.

    A judge is a model and a rubric: labels of another model, or by other words, do not count, and
    each is held to the same by itself. The word, kappa and n are those of the worst.
    """
    found = [
        _standing_of_one(metric, judge, [one for one in labels if one.judge == judge])
        for judge in sorted(set(judges))
    ]
    found.sort(key=lambda one: _WORST_FIRST.index(one.word))
    if not found:
        return None
    never = sorted(judge for judge in set(judges) if judge not in {one.judge for one in labels})
    told = [one.sentence for one in found if one.word == "low"]
    told += [_never(never)] if never else []
    told += [one.sentence for one in found if one.word in ("few", "checked")]
    if len(told) > _NAMED:
        told[_NAMED:] = [f"{len(told) - _NAMED} more judges stand no worse than these."]
    return Standing(found[0].word, " ".join(told), found[0].kappa, found[0].n)


def _never(judges: Sequence[JudgeId]) -> str:
    """Judges that no label is of, in one sentence."""
    rubrics = {judge.rubric for judge in judges}
    models = list(dict.fromkeys(judge.model for judge in judges))
    shown = " and ".join(models) if len(models) < 3 else f"{models[0]} and {len(models) - 1} more"
    what = f"rubric {judges[0].rubric[:8]}" if len(rubrics) == 1 else f"{len(rubrics)} rubrics"
    has = "has" if len(models) == 1 else "have"
    told = "not been checked against people; `matrix label RUN` does that."
    return f"{shown}, by {what}, {has} {told}"


def _standing_of_one(metric: str, judge: JudgeId, labels: Sequence[Label]) -> Standing:
    """How one judge stands.

    Where no label is of the score, as of one that is made of several, those of its other scores
    decide: one that it gives too unlike people, then those with enough labels.
    """
    scores = sorted({one.metric for one in labels if one.value is not None})
    checks = [check_judge(name, labels) for name in ([metric] if metric in scores else scores)]
    if not checks:
        return Standing("unchecked", _never([judge]), None, 0)
    worst = min(checks, key=_standing_order)
    about = "" if worst.metric == metric else f" on {worst.metric}"
    if worst.n < ENOUGH or worst.kappa is None:
        why = f"only {worst.n} of the {ENOUGH} labelled transcripts that it takes"
        if worst.n >= ENOUGH:
            why = f"its agreement is not defined: all {worst.n} labels are the same"
        told = f"{_named(judge)} is not yet checked against people{about}: {why}."
        return Standing("few", told, worst.kappa, worst.n)
    kappa = f"kappa {worst.kappa:.2f}{_ends(worst.interval)}, {worst.n} transcripts"
    if worst.people_differ:
        told = f"{_named(judge)} was checked{about} by people who agree with each other too little "
        told += f"to be leant on: alpha {worst.people_alpha:.2f}; {AGREEMENT_WARN_BELOW:g} is the "
        told += "least."
        return Standing("low", told, worst.kappa, worst.n)
    if worst.low:
        told = f"{_named(judge)} agrees with people too little{about} to be leant on: {kappa}; "
        told += f"{AGREEMENT_WARN_BELOW:g} is the least."
        return Standing("low", told, worst.kappa, worst.n)
    told = f"{_named(judge)} agrees with people{about}: {kappa}."
    return Standing("checked", told, worst.kappa, worst.n)


def _standing_order(check: JudgeCheck) -> tuple[int, float]:
    """Too little agreement first, whatever else was labelled since; then what has enough labels."""
    if check.n >= ENOUGH and check.kappa is not None:
        return (0 if check.low else 1), check.kappa
    return 2, -float(check.n)


def _named(judge: JudgeId) -> str:
    # a panel is told as one judge with the names of its members
    models = judge.model.split(", ")
    shown = " and ".join(models) if len(models) < 3 else f"{models[0]} and {len(models) - 1} more"
    return f"{shown}, by rubric {judge.rubric[:8]},"


def _ends(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f" ({interval.low:.2f} to {interval.high:.2f}, {100 * interval.confidence:g} %)"


def alpha_among_people(places: Iterable[Sequence[Label]]) -> float | None:
    """Krippendorff's alpha of what people say of transcripts; ``None`` of one person, or none.

    Args:
        places: For each transcript, its labels of one score.
    """
    groups = list(places)
    raters = sorted({one.rater for group in groups for one in group})
    if len(raters) < 2:
        return None
    ratings = np.full((len(raters), len(groups)), np.nan)
    for place, group in enumerate(groups):
        for one in group:
            ratings[raters.index(one.rater), place] = one.value
    return krippendorff_alpha(ratings, "interval")


def _confusion(people: Floats, judge: Floats) -> Confusion | None:
    values = np.unique(np.concatenate([people, judge]))
    if not values.size or values.size > _MOST_VALUES:
        return None
    counts = [[int(((people == a) & (judge == b)).sum()) for b in values] for a in values]
    return Confusion(tuple(map(float, values)), tuple(map(tuple, counts)))


def _share(these: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> Share:
    count, n = int((these & among).sum()), int(among.sum())
    return Share(count, n, wilson(count, n) if n else None)
