"""Everything that can be said of one comparison, as one value: what ``matrix compare`` shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matrix.model.documents.mistakes import Mistakes, together
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.lines import in_line
from matrix.model.notebook import text_as_html
from matrix.model.seeds import derive_seed
from matrix.report.compare.compare import (
    FactorComparison,
    MatchupVerdict,
    VariantRow,
    comparison_of,
    judge,
)
from matrix.report.compare.judges.judge_check import Standing
from matrix.report.compare.judges.labelled import ByPeople, judged_parts, standing_in
from matrix.report.compare.leading import leading_pair
from matrix.report.compare.matchup import COMPOSITE, Matchup
from matrix.report.compare.study_words import Figures
from matrix.report.compare.voiding import standing_beside
from matrix.report.study.breakdown import (
    Breakdown,
    Elsewhere,
    breakdown_of,
    chosen_breakdown,
    elsewhere_of,
)
from matrix.report.study.caveats import caveats_of
from matrix.report.study.cost_quality import CostQuality, cost_quality_of
from matrix.report.study.decision_aid import Risk, risk_of
from matrix.report.study.noise_sources import Agreement, NoiseReport, agreement_of, noise_of
from matrix.report.study.pairs import PairRow, pair_rows
from matrix.report.study.secondary import Secondary, secondary_of
from matrix.report.study.settling import Settling, advice_of, settling_of
from matrix.stats import Verdict


@dataclass(frozen=True, slots=True, repr=False)
class Study:
    """A comparison with all its sections.

    Attributes:
        comparison: Variants, verdict, and the sentence that says it.
        unit: What an independent observation is called: ``round``, ``checkpoint``, ``repeat``.
        caveats: What to know before believing any of it, in sentences; such as that the margin was
            given after launch.
        against: The baseline that the others are compared with, if one was named.
        pairs: Pairwise differences.
        advice: What to do on the strength of the verdict; empty where it is void.
        settling: How many more rounds would settle it, and what they would cost.
        breakdown: The leading pair by scenario, or by another factor; ``None`` where there is one
            scenario or nothing to compare yet.
        elsewhere: What is said about scenarios like these.
        secondary: The other metrics of the leading pair; ``None`` with nothing to compare yet.
        cost_quality: Cost beside quality; ``None`` where the metric is money, or none was spent.
        noise: Where the noise comes from; ``None`` with fewer than two whole rounds.
        agreement: How far the judges of a panel, or repeats of one, agree; ``None`` without.
        standing: Whether the judge was checked against people; ``None`` where none has part in it.
        people: Means by people, with the judge's help; ``None`` without labels.
        risk: What shipping each variant now would risk; ``None`` where something is shown, or
            would be but for a judge that errs.
    """

    comparison: FactorComparison
    unit: str
    caveats: tuple[str, ...]
    against: str | None
    pairs: tuple[PairRow, ...]
    advice: str
    settling: Settling
    breakdown: Breakdown | None
    elsewhere: Elsewhere
    secondary: Secondary | None
    cost_quality: CostQuality | None
    noise: NoiseReport | None
    agreement: Agreement | None
    standing: Standing | None
    people: ByPeople | None
    risk: Risk | None

    def __repr__(self) -> str:
        """The verdict in one line; all that it rests on is in the attributes."""
        return in_line(f"<study of {self.factor} on {self.metric}: {self.sentence}>")

    def _repr_html_(self) -> str:
        """What a notebook shows: every section, as text."""
        from matrix.report.study.study_text import study_as_text

        return text_as_html(study_as_text(self))

    @property
    def factor(self) -> str:
        """What the variants are levels of; ``run`` for two runs."""
        return self.comparison.factor

    @property
    def figures(self) -> Figures:
        """How its figures are written."""
        return Figures(self.metric, self.comparison.score_digits)

    @property
    def metric(self) -> str:
        """What was compared."""
        return self.comparison.metric

    @property
    def rows(self) -> tuple[VariantRow, ...]:
        """The variants, with every denominator."""
        return self.comparison.rows

    @property
    def verdict(self) -> Verdict:
        """What can be said, and everything it rests on."""
        return self.comparison.verdict

    @property
    def winner(self) -> str | None:
        """Name of the winner, if there is one."""
        index = self.verdict.winner
        return None if index is None else self.rows[index].level

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        return self.comparison.sentence

    @property
    def rests_on(self) -> str:
        """What the verdict rests on."""
        return self.comparison.rests_on

    @property
    def simulated(self) -> str:
        """What to say of simulated models in it; empty if there are none."""
        return self.comparison.simulated


def study_of(
    matchup: Matchup,
    metric: str | None = None,
    *,
    margin: float | None = None,
    by: str | None = None,
    against: str | None = None,
    lower: bool | None = None,
) -> Study:
    """Compare the variants of a matchup in every way.

    Args:
        matchup: Who competes.
        metric: On what; the declared metric if left out, ``composite`` for ``score``.
        margin: Differences that count as none, in units of the metric; by default the declared one.
        by: Break down by ``scenario`` (or ``story``) or another factor; by scenario if left out.
        against: Compare every variant with this one only.
        lower: Whether less of the metric is better, whatever was declared of it.

    Raises:
        BadInput: All that is wrong with these.
    """
    asked = metric or matchup.metric
    matchup = matchup.with_metrics("score" if asked == COMPOSITE else asked)
    matchup.require_told(asked)
    if asked == COMPOSITE and COMPOSITE not in matchup.measured():
        asked = "score"
    (baseline, chosen_by), judged = together(
        lambda: together(
            lambda: _baseline(matchup, against), lambda: chosen_breakdown(matchup, by)
        ),
        lambda: _judged(matchup, asked, margin, lower),
    )
    return _assembled(judged, margin, chosen_by, baseline)


def _assembled(
    judged: MatchupVerdict, margin: float | None, by: str | None, baseline: int | None
) -> Study:
    matchup = judged.matchup
    lead = leading_pair(judged, baseline)
    # Always the same draws: the same tables give the same figures.
    rng = np.random.default_rng(derive_seed("compare", "cost beside quality"))
    repeats = matchup.judge_repeats(judged.metric)
    panel = [one.model for one in matchup.spec.judges if one.name == judged.metric]
    names = judged_parts(judged.metric, matchup.sources)
    parts = {name: matchup.judge_repeats(name) for name in names} if repeats.size else {}
    agreement = agreement_of(repeats, panel[0] if panel else (), parts)
    comparison = comparison_of(judged)
    costs = tuple(row.cost_per_completed_usd for row in comparison.rows)
    return Study(
        comparison=comparison,
        unit=matchup.unit,
        caveats=caveats_of(judged, margin),
        against=None if baseline is None else matchup.variants[baseline],
        pairs=pair_rows(judged, baseline),
        advice=advice_of(judged),
        settling=settling_of(judged),
        breakdown=None if lead is None or by is None else breakdown_of(judged, lead, by),
        elsewhere=elsewhere_of(judged, lead),
        secondary=None if lead is None else secondary_of(judged, lead),
        cost_quality=None
        if lead is None or matchup.judged_twice
        else cost_quality_of(judged, lead, rng),
        noise=noise_of(judged, repeats),
        agreement=agreement,
        standing=standing_beside(standing_in(judged.metric, matchup.sources), judged.void),
        people=judged.people,
        risk=None if judged.void else risk_of(judged, costs),
    )


def _judged(
    matchup: Matchup, metric: str, margin: float | None, lower: bool | None
) -> MatchupVerdict:
    """The verdict; refused where no session that ended has a value.

    Raises:
        BadInput: There is no such metric, or it has no values, or the margin is none.
    """
    mistakes = Mistakes()
    values = mistakes.collect(lambda: matchup.values(metric))
    ended = int(np.isin(matchup.outcomes, ("completed", "timeout")).sum())
    empty = ended and values is not None and not np.isfinite(values).any()
    if empty and metric != matchup.metric:
        told = f"none of the {ended:,} sessions that ended has a value of {metric!r}"
        mistakes.say("--metric", f"{told}, so nothing to compare")
    # Of a metric that does not exist, only the margin is left to be looked at.
    metric = "cost_usd" if mistakes.found else metric
    judged = mistakes.collect(lambda: judge(matchup, metric, margin, lower=lower))
    if mistakes.found or judged is None:
        raise BadInput(mistakes.found)
    return judged


def _baseline(matchup: Matchup, against: str | None) -> int | None:
    if against is None:
        return None
    if against in matchup.variants:
        return matchup.variants.index(against)
    known = ", ".join(matchup.variants)
    hint = did_you_mean(against, list(matchup.variants))
    told = f"found {against!r}; the variants are: {known}{hint}"
    raise BadInput([Mistake("--against", None, "", told)])
