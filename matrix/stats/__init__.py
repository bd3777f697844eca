"""Statistics of matrices of sessions: intervals, complete rounds, and an honest verdict.

From sessions to a verdict takes two calls::

    table = complete_rounds(rounds, scenarios, variants, scores, outcomes,
                            n_rounds_planned=40, n_scenarios=3, n_variants=2)
    verdict = fixed_n_verdict(table, Rules(delta=2.0))
    print(verdict_sentence(verdict, ["baseline", "pulse-aware"], "quality", "points"))

Importing this package costs numpy and nothing else; ``scipy.special`` is loaded by the first
function that needs it and ``scipy.stats`` never is.
"""

from matrix.stats.agreement import (
    AGREEMENT_WARN_BELOW,
    cohen_kappa,
    cohen_kappa_of_table,
    krippendorff_alpha,
)
from matrix.stats.bootstrap import bootstrap_t
from matrix.stats.clustered import clustered_se
from matrix.stats.comparisons import Comparison, discordant_needed, fixed_n_comparisons
from matrix.stats.failures import FailureContrast, failure_contrast, manski_bounds
from matrix.stats.frontier import frontier, frontier_membership
from matrix.stats.gate import (
    Equivalence,
    Gate,
    GateKind,
    GateReason,
    gate_paired,
    gate_rates,
    gate_unpaired,
    tost_paired,
    tost_unpaired,
)
from matrix.stats.interval import Interval
from matrix.stats.means import MeanSummary, PairedT, paired_t, summarize
from matrix.stats.money import (
    CostRatio,
    RatioMethod,
    cost_per_completed,
    cost_ratio,
    cost_ratio_jackknife,
    dominates,
)
from matrix.stats.multiplicity import benjamini_hochberg, e_benjamini_hochberg, holm, pairwise_level
from matrix.stats.noise import Doubled, Noise, NoiseSource, noise_shares
from matrix.stats.power import (
    ENGINE_FACTORS,
    Engine,
    PowerGoal,
    binary_pairs_needed,
    cost_of_rounds,
    pairs_by_normal,
    pairs_needed,
    power_of_rounds,
    rounds_for,
    rounds_needed,
    sd_of_clustered_difference,
    sd_of_difference,
    smallest_effect,
    unpaired_needed,
)
from matrix.stats.prediction_powered import PoweredMean, powered_mean
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
from matrix.stats.rules import MIN_ROUNDS, Flag, Reason, Rules, VerdictKind
from matrix.stats.running import RunningMean
from matrix.stats.scenarios import MIN_SCENARIOS, NewScenarios, new_scenarios, paired_scores
from matrix.stats.sentence import verdict_sentence
from matrix.stats.threshold import (
    ThresholdKind,
    ThresholdVerdict,
    beta_binomial_log_e,
    beta_binomial_sequence,
    fixed_threshold,
    sequential_threshold,
)
from matrix.stats.unpaired import LaunchPairs, Welch, pair_by_launch, welch
from matrix.stats.verdict import VariantSummary, Verdict, fixed_n_verdict

__all__ = [
    "AGREEMENT_WARN_BELOW",
    "ENGINE_FACTORS",
    "MIN_ROUNDS",
    "MIN_SCENARIOS",
    "OUTCOMES",
    "Comparison",
    "CostRatio",
    "Doubled",
    "Engine",
    "Equivalence",
    "FailureContrast",
    "Flag",
    "Gate",
    "GateKind",
    "GateReason",
    "Interval",
    "LaunchPairs",
    "McNemar",
    "MeanSummary",
    "NewScenarios",
    "Noise",
    "NoiseSource",
    "PairedT",
    "PowerGoal",
    "PoweredMean",
    "PrefixEnd",
    "RatioMethod",
    "Reason",
    "RoundTable",
    "Rules",
    "RunningMean",
    "ThresholdKind",
    "ThresholdVerdict",
    "VariantSummary",
    "Verdict",
    "VerdictKind",
    "Welch",
    "benjamini_hochberg",
    "beta_binomial_log_e",
    "beta_binomial_sequence",
    "binary_pairs_needed",
    "bootstrap_t",
    "clopper_pearson",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "clustered_se",
    "cohen_kappa",
    "cohen_kappa_of_table",
    "complete_rounds",
    "cost_of_rounds",
    "cost_per_completed",
    "cost_ratio",
    "cost_ratio_jackknife",
    "discordant_needed",
    "dominates",
    "e_benjamini_hochberg",
    "failure_contrast",
    "fixed_n_comparisons",
    "fixed_n_verdict",
    "fixed_threshold",
    "frontier",
    "frontier_membership",
    "gate_paired",
    "gate_rates",
    "gate_unpaired",
    "holm",
    "krippendorff_alpha",
    "manski_bounds",
    "mcnemar",
    "new_scenarios",
    "newcombe_independent",
    "newcombe_paired",
    "noise_shares",
    "pair_by_launch",
    "paired_scores",
    "paired_t",
    "pairs_by_normal",
    "pairs_needed",
    "pairwise_level",
    "power_of_rounds",
    "powered_mean",
    "rounds_for",
    "rounds_needed",
    "sd_of_clustered_difference",
    "sd_of_difference",
    "sequential_threshold",
    "smallest_effect",
    "summarize",
    "tost_paired",
    "tost_unpaired",
    "unpaired_needed",
    "verdict_sentence",
    "welch",
    "wilson",
]
