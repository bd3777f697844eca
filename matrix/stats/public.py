"""All that ``matrix.stats`` offers, in one place: the first name that is asked for loads it."""

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.means import MeanSummary, PairedT, paired_t, summarize
from matrix.stats.estimates.multiplicity import (
    benjamini_hochberg,
    e_benjamini_hochberg,
    holm,
    pairwise_level,
)
from matrix.stats.estimates.proportions import (
    McNemar,
    clopper_pearson_lower,
    clopper_pearson_upper,
    discordant_needed,
    mcnemar,
    newcombe_paired,
    wilson,
    wilson_clustered,
    wilson_of_groups,
)
from matrix.stats.estimates.running import RunningMean
from matrix.stats.estimates.unpaired import Welch, welch
from matrix.stats.gates.frontier import frontier, frontier_membership
from matrix.stats.gates.gate import (
    GateDecision,
    GateKind,
    GateReason,
    gate_paired,
)
from matrix.stats.gates.money import (
    CostRatio,
    RatioMethod,
    cost_ratio,
    cost_ratio_jackknife,
    cost_ratio_unpaired,
    dominates,
)
from matrix.stats.gates.threshold import (
    MeanThreshold,
    ThresholdKind,
    ThresholdVerdict,
    clustered_threshold,
    fixed_threshold,
    mean_threshold,
)
from matrix.stats.judges.agreement import (
    AGREEMENT_WARN_BELOW,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
)
from matrix.stats.judges.prediction_powered import PoweredMean, powered_mean, powered_share
from matrix.stats.looks.betting import (
    gate_bound,
    log_gate_capital,
)
from matrix.stats.looks.failures import FailureContrast, failure_contrast
from matrix.stats.looks.mixture import (
    t_mixture_log_e,
    t_mixture_radii,
)
from matrix.stats.looks.spending import (
    spending_boundary,
    squared_spending,
)
from matrix.stats.noise.noise import Doubled, Noise, NoiseSource, noise_shares
from matrix.stats.noise.scenarios import MIN_SCENARIOS, NewScenarios, new_scenarios, paired_scores
from matrix.stats.planning.planning import RoundsToWin, failure_gate_pairs, rounds_to_win, sd_range
from matrix.stats.planning.power import (
    ENGINE_FACTORS,
    PowerGoal,
    pairs_by_normal,
    pairs_needed,
    power_of_rounds,
    rounds_for,
    rounds_needed,
    sd_of_difference,
    smallest_effect,
)
from matrix.stats.rounds.own_mean import OwnMean, own_mean
from matrix.stats.rounds.round_table import OUTCOMES, PrefixEnd, RoundTable
from matrix.stats.rounds.rounds import complete_rounds
from matrix.stats.rounds.rules import MIN_ROUNDS, Engine, Flag, Reason, Rules, VerdictKind
from matrix.stats.verdicts.comparisons import Comparison, fixed_n_comparisons
from matrix.stats.verdicts.sentence import verdict_sentence
from matrix.stats.verdicts.sequential import Beaten
from matrix.stats.verdicts.verdict import VariantSummary, Verdict, fixed_n_verdict, verdict_of

__all__ = [
    "AGREEMENT_WARN_BELOW",
    "ENGINE_FACTORS",
    "MIN_ROUNDS",
    "MIN_SCENARIOS",
    "OUTCOMES",
    "Beaten",
    "Comparison",
    "CostRatio",
    "Doubled",
    "Engine",
    "FailureContrast",
    "Flag",
    "GateDecision",
    "GateKind",
    "GateReason",
    "Interval",
    "McNemar",
    "MeanSummary",
    "MeanThreshold",
    "NewScenarios",
    "Noise",
    "NoiseSource",
    "OwnMean",
    "PairedT",
    "PowerGoal",
    "PoweredMean",
    "PrefixEnd",
    "RatioMethod",
    "Reason",
    "RoundTable",
    "RoundsToWin",
    "Rules",
    "RunningMean",
    "ThresholdKind",
    "ThresholdVerdict",
    "VariantSummary",
    "Verdict",
    "VerdictKind",
    "Welch",
    "benjamini_hochberg",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "clustered_threshold",
    "cohen_kappa",
    "complete_rounds",
    "cost_ratio",
    "cost_ratio_jackknife",
    "cost_ratio_unpaired",
    "discordant_needed",
    "dominates",
    "e_benjamini_hochberg",
    "failure_contrast",
    "failure_gate_pairs",
    "fixed_n_comparisons",
    "fixed_n_verdict",
    "fixed_threshold",
    "frontier",
    "frontier_membership",
    "gate_bound",
    "gate_paired",
    "holm",
    "kappa_interval",
    "krippendorff_alpha",
    "log_gate_capital",
    "mcnemar",
    "mean_threshold",
    "new_scenarios",
    "newcombe_paired",
    "noise_shares",
    "own_mean",
    "paired_scores",
    "paired_t",
    "pairs_by_normal",
    "pairs_needed",
    "pairwise_level",
    "power_of_rounds",
    "powered_mean",
    "powered_share",
    "rounds_for",
    "rounds_needed",
    "rounds_to_win",
    "sd_of_difference",
    "sd_range",
    "smallest_effect",
    "spending_boundary",
    "squared_spending",
    "summarize",
    "t_mixture_log_e",
    "t_mixture_radii",
    "verdict_of",
    "verdict_sentence",
    "welch",
    "wilson",
    "wilson_clustered",
    "wilson_of_groups",
]
