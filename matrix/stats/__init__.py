"""Statistics of matrices of sessions: intervals, complete rounds, and an honest verdict.

From sessions to a verdict takes two calls::

    table = complete_rounds(rounds, scenarios, variants, scores, outcomes,
                            n_rounds_planned=40, n_scenarios=3, n_variants=2)
    verdict = verdict_of(table, Rules(delta=2.0))
    print(verdict_sentence(verdict, ["baseline", "pulse-aware"], "quality", "points"))

Importing this package costs numpy and nothing else; ``scipy.special`` is loaded by the first
function that needs it and ``scipy.stats`` never is.
"""

from matrix.stats.betting import (
    betting_capital,
    betting_interval,
    discordant_e,
    gate_bound,
    log_gate_capital,
)
from matrix.stats.comparisons import Comparison, discordant_needed, fixed_n_comparisons
from matrix.stats.failures import FailureContrast, failure_contrast, manski_bounds
from matrix.stats.interval import Interval
from matrix.stats.means import MeanSummary, PairedT, paired_t, summarize
from matrix.stats.mixture import (
    best_rho,
    gamma_exponential_bound,
    gamma_exponential_log_e,
    normal_mixture_bound,
    normal_mixture_log_e,
    t_mixture_log_e,
    t_mixture_radii,
)
from matrix.stats.multiplicity import (
    benjamini_hochberg,
    e_benjamini_hochberg,
    holm,
    pairwise_level,
)
from matrix.stats.proportions import (
    McNemar,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    mcnemar,
    newcombe_independent,
    newcombe_paired,
    wilson,
)
from matrix.stats.round_table import OUTCOMES, PrefixEnd, RoundTable
from matrix.stats.rounds import complete_rounds
from matrix.stats.rules import MIN_ROUNDS, Engine, Flag, Reason, Rules, VerdictKind
from matrix.stats.running import RunningMean
from matrix.stats.sentence import verdict_sentence
from matrix.stats.sequential import Beaten
from matrix.stats.spending import (
    obrien_fleming_spending,
    planned_radii,
    spending_boundary,
    squared_spending,
)
from matrix.stats.verdict import VariantSummary, Verdict, fixed_n_verdict, verdict_of

__all__ = [
    "MIN_ROUNDS",
    "OUTCOMES",
    "Beaten",
    "Comparison",
    "Engine",
    "FailureContrast",
    "Flag",
    "Interval",
    "McNemar",
    "MeanSummary",
    "PairedT",
    "PrefixEnd",
    "Reason",
    "RoundTable",
    "Rules",
    "RunningMean",
    "VariantSummary",
    "Verdict",
    "VerdictKind",
    "benjamini_hochberg",
    "best_rho",
    "betting_capital",
    "betting_interval",
    "clopper_pearson",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "complete_rounds",
    "discordant_e",
    "discordant_needed",
    "e_benjamini_hochberg",
    "failure_contrast",
    "fixed_n_comparisons",
    "fixed_n_verdict",
    "gamma_exponential_bound",
    "gamma_exponential_log_e",
    "gate_bound",
    "holm",
    "log_gate_capital",
    "manski_bounds",
    "mcnemar",
    "newcombe_independent",
    "newcombe_paired",
    "normal_mixture_bound",
    "normal_mixture_log_e",
    "obrien_fleming_spending",
    "paired_t",
    "pairwise_level",
    "planned_radii",
    "spending_boundary",
    "squared_spending",
    "summarize",
    "t_mixture_log_e",
    "t_mixture_radii",
    "verdict_of",
    "verdict_sentence",
    "wilson",
]
