"""Verdicts that rest on a judge which people's labels show to err differently for the variants.

What labels show of a judge is taken off its difference between two variants, the doubts of both
added in quadrature. A winner whose lead is then not above 0, and an equivalence whose difference
is then not within the margin, is void: nothing is claimed on the judge's word alone. Nor is it
said who is ahead so far, or how many rounds would show it, where the judge errs for that variant;
or that no difference is shown, where the difference without the error lies outside what is stated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matrix.model.records import JSON
from matrix.report.compare.judges.judge_bias import lead_falls, likeness_falls
from matrix.report.compare.judges.labelled import ByPeople, by_people
from matrix.report.compare.judges.labels_elsewhere import errs_elsewhere
from matrix.report.compare.study_words import Figures
from matrix.report.text import ends_as_data, ends_of
from matrix.stats.rounds.rules import VerdictKind
from matrix.stats.verdicts.ruling import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matrix.report.compare.compare import MatchupVerdict
    from matrix.report.compare.judges.judge_bias import BiasDifference
    from matrix.report.compare.judges.judge_check import Standing
    from matrix.stats import Comparison


@dataclass(frozen=True, slots=True)
class Void:
    """Why a verdict by the judge does not stand.

    Attributes:
        by_judge: What the verdict would be by the judge alone.
        winner_by_judge: Who would have won by it; empty where nobody would have.
        errors: Pairs of variants for which the judge errs by enough to undo the verdict.
        people: The variants by people, with the judge's help.
    """

    by_judge: VerdictKind
    winner_by_judge: str
    errors: tuple[BiasDifference, ...]
    people: ByPeople
    score_digits: int = 1

    def concerns(self, first: str, second: str) -> bool:
        """Whether the judge's difference between two variants is undone, in either order."""
        return any(one.concerns(first, second) for one in self.errors)

    @property
    def pairs(self) -> str:
        """The pairs, in words."""
        return ", ".join(f"{one.first} and {one.second}" for one in self.errors)

    @property
    def sentence(self) -> str:
        """In place of the verdict's own."""
        figures, metric = Figures(self.people.metric, self.score_digits), self.people.metric
        errs = ", ".join(
            f"{one.first} and {one.second} (by {figures.difference(one.difference)}, {one.sure})"
            for one in self.errors
        )
        means = ", ".join(
            f"{row.level} {figures.number(row.mean)}"
            if row.interval is None
            else "{} {} ({})".format(row.level, *figures.mean(row.mean, *ends_of(row.interval)))
            for row in self.people.rows
        )
        what, left = "No winner shown", ""
        if self.by_judge == "winner":
            what = "No winner"
            left = f", and without that no lead of {self.winner_by_judge} is shown"
        elif self.by_judge == "equivalent":
            what = "Not shown to be equivalent"
            left = ", and without that no difference is shown to lie within the margin"
        return (
            f"{what} on {metric} on the judge's word alone: labels show that it errs differently "
            f"for {errs}{left}. By people, with the judge's help: {means}."
        )

    @property
    def remedy(self) -> str:
        """What to do, in place of more rounds."""
        return (
            "More rounds would not settle it, because the judge errs differently for "
            f"{self.pairs}: mend the rubric or take another judge (`matrix rejudge`), and check it "
            "with the same labels; or label more sessions, and go by people."
        )

    @property
    def data(self) -> JSON:
        """The same for programs."""
        return {
            "verdict_by_judge": self.by_judge,
            "winner_by_judge": self.winner_by_judge or None,
            "errors": [one.data for one in self.errors],
            "by_people": [
                {
                    "level": row.level,
                    "labelled": row.labelled,
                    "mean": row.mean,
                    **ends_as_data(row.interval),
                }
                for row in self.people.rows
            ],
        }


def voided(judged: MatchupVerdict) -> MatchupVerdict:
    """The same with what people say, and without what is claimed of scores that labels undo.

    Args:
        judged: A verdict, as the judge's scores make it.
    """
    verdict, names = judged.verdict, judged.matchup.variants
    people = by_people(judged.matchup, judged.metric)
    elsewhere = errs_elsewhere(judged.matchup, judged.metric)
    if people is not None:
        elsewhere = tuple(one for one in elsewhere if not people.knows(one.error))
    judged = replace(judged, people=people, elsewhere=elsewhere)
    if verdict.reasons[0] == "others fail too often":
        return judged  # nothing is claimed of scores
    if people is None or not people.differs:
        return judged
    errors = tuple(one for one in people.differs if _undone(judged, one))
    if not errors:
        return judged
    winner = "" if verdict.winner is None else names[verdict.winner]
    return replace(
        judged,
        void=Void(verdict.kind, winner, errors, people, judged.matchup.score_digits),
        verdict=replace(
            verdict,
            kind="not_enough_data",
            winner=None,
            ahead=None,
            reasons=(),
            extra_rounds=None,
            winner_rounds=None,
            sensitivity=(),
            decided_at=None,
        ),
    )


def is_undone(judged: MatchupVerdict, pair: Comparison) -> bool:
    """Whether what a pair shows does not stand: by a void verdict, or by its own judge's error."""
    first, second = (judged.matchup.variants[index] for index in (pair.b, pair.a))
    if judged.void is not None and judged.void.concerns(first, second):
        return True
    error = judged.error_between(first, second)
    if error is None or pair.interval is None or pair.difference is None:
        return False
    if inside(pair, margin := judged.verdict.rules.delta):
        return likeness_falls(pair.difference, pair.interval, error, margin or 0.0)
    return bool(pair.sign) and lead_falls(pair.difference, pair.interval, error)


def standing_beside(standing: Standing | None, void: Void | None) -> Standing | None:
    """How a judge stands, where the verdict that it made is void."""
    if standing is None or void is None:
        return standing
    told = f"{standing.sentence} It errs differently for {void.pairs}, which voids the verdict."
    return replace(standing, word="void", sentence=told)


def _undone(judged: MatchupVerdict, error: BiasDifference) -> bool:
    """Whether a claim of this verdict about two variants falls with what the judge errs by."""
    if judged.verdict.kind in ("winner", "equivalent"):
        return any(_falls(judged, pair, error) for pair in _claimed(judged, error))
    if judged.verdict.kind == "no_difference" and _leads_out(judged, error):
        return True
    return _flatters(judged, error)


def _leads_out(judged: MatchupVerdict, error: BiasDifference) -> bool:
    """Whether a difference without the error lies outside the interval that is stated of it."""
    return any(
        pair.interval is not None
        and pair.difference is not None
        and not pair.interval.contains(pair.difference - error.difference)
        for pair in _of_these(judged, error, judged.verdict.comparisons)
    )


def _flatters(judged: MatchupVerdict, error: BiasDifference) -> bool:
    """Whether the judge errs for the one that is ahead so far, or nobody is."""
    verdict = judged.verdict
    pairs = verdict.comparisons if verdict.decisive is None else (verdict.decisive,)
    return any(
        (pair.difference or 0.0) * error.difference >= 0.0
        for pair in _of_these(judged, error, pairs)
    )


def _claimed(judged: MatchupVerdict, error: BiasDifference) -> Iterator[Comparison]:
    """What the verdict claims of these two."""
    verdict = judged.verdict
    pairs = verdict.claims if verdict.kind == "winner" else verdict.comparisons
    for pair in _of_these(judged, error, pairs):
        if verdict.kind == "equivalent" or verdict.winner in (pair.a, pair.b):
            yield pair


def _of_these(
    judged: MatchupVerdict, error: BiasDifference, pairs: Iterable[Comparison]
) -> Iterator[Comparison]:
    """Those of the pairs that are of an error's two variants, as its first minus its second."""
    names = judged.matchup.variants
    first, second = names.index(error.first), names.index(error.second)
    for pair in pairs:
        if {pair.a, pair.b} == {first, second}:
            yield pair if pair.b == first else pair.reversed()


def _falls(judged: MatchupVerdict, pair: Comparison, error: BiasDifference) -> bool:
    if pair.interval is None or pair.difference is None:
        return False
    if judged.verdict.kind == "equivalent":
        margin = judged.verdict.rules.delta or 0.0
        return likeness_falls(pair.difference, pair.interval, error, margin)
    return lead_falls(pair.difference, pair.interval, error)
