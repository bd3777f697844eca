"""What can be compared of a session besides its scores: its cost, length and use of models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal

from matrix.model.entries import Ended
from matrix.model.lines import words_in
from matrix.model.money import to_usd
from matrix.model.records import PLAYED, Outcome

_OF_SESSION: Final[Mapping[str, Callable[[Ended], float | None]]] = {
    "score": lambda ended: ended.score,
    "cost_usd": lambda ended: to_usd(ended.tally.cost),
    "turns": lambda ended: float(ended.turns),
    "calls": lambda ended: float(ended.tally.calls),
    "duration_s": lambda ended: ended.tally.clock_s,
    "tokens_in": lambda ended: float(ended.tally.tokens_in),
    "tokens_out": lambda ended: float(ended.tally.tokens_out),
}

SESSION_METRICS: Final = tuple(_OF_SESSION)
"""Columns of ``sessions`` that can be compared; any other metric is a name in ``scores``."""

FAILED: Final = "failed"
"""The metric that is 1 for a session that failed, 0 for one that completed."""

OF_FAILURES_TOO: Final = frozenset({FAILED, "cost_usd"})
"""Metrics that failed sessions have as well: they failed, and they cost."""

MOST_SCORE: Final = 1e15
"""The largest score, either way: a larger one has no decimals left, and is a mistake."""

MOST_NUMBER: Final = 1e150
"""Numbers from which on nothing is made of what is read: the square of a larger one is none."""

COUNTED: Final = frozenset({*SESSION_METRICS, FAILED}) - {"score"}
"""Those that every session has of itself, whatever its kind."""

LOWER_IS_BETTER: Final = COUNTED
"""Those of them of which less is better."""

UNDIRECTED: Final = frozenset({"turns", "calls", "tokens_in", "tokens_out"})
"""Those of them that are neither good nor bad by themselves; a comparison on one wants less."""


def lower_is_better(metric: str, of_kind: Collection[str]) -> bool:
    """Whether less of a metric is better; ``of_kind`` are the scores of which the kind says so."""
    return metric in LOWER_IS_BETTER or metric in of_kind


def direction_told(*, lower: bool) -> str:
    """Which values of a metric are better, in words."""
    return f"{'less' if lower else 'more'} is better"


_AMOUNTS: Final = frozenset(
    {
        "cost", "costs", "price", "prices", "spend", "spent", "usd", "eur", "gbp", "chf", "jpy",
        "cny", "inr", "dollar", "dollars", "euro", "euros", "cent", "cents", "latency", "latencies",
        "duration", "durations", "seconds", "secs", "ms", "millis", "milliseconds", "minutes",
        "elapsed", "runtime", "ttft", "tokens", "temps", "co2", "latence", "latences",
    }
)  # fmt: skip
"""What a name is of which less is better, wherever it has it."""
_LESS: Final = frozenset(
    {
        "time", "token", "error", "errors", "failures", "failure", "retries", "timeouts", "timeout",
        "timed", "loss", "wer", "cer", "perplexity", "toxicity", "hallucination", "hallucinations",
        "violation", "violations", "distance", "mae", "mse", "rmse", "brier", "calls", "turns",
        "crashed", "crashes", "errored", "refused", "refusal", "refusals", "bug", "bugs", "defect",
        "defects", "mistake", "mistakes", "wrong", "incorrect", "misses", "regret", "penalty",
        "penalties", "harm", "harms", "harmful", "unsafe", "risk", "risks", "complaint",
        "complaints", "fpr", "fnr", "bias", "biases", "rank", "toxic", "churn",
        "bounce", "bounces", "escalation", "escalations", "abandonment", "dropout", "dropouts",
        "rejections", "downtime", "delay", "delays", "lag", "leaks", "spam", "cancellations",
        "incident", "incidents", "refund", "refunds", "refunded", "regression", "regressions",
        "unsubscribed", "unsubscribes", "reopened", "reopens", "ppl", "stderr", "wait", "waits",
        "fp", "fn", "warnings", "violated", "hallucinated", "interruptions",
        "rework", "detractors", "aht", "ece", "deaths", "mortality", "beschwerden",
        "reklamationen", "outliers", "drift", "overruns", "harmfulness", "leak", "leakage",
        "leaked", "escalated", "effort", "steps", "toxicit", "toxicite", "duree", "cout", "couts",
        "erreur", "erreurs", "prix", "delai", "delais", "logloss", "severity", "issues", "rang",
        "platz", "verstoss", "verstosse", "verstoesse",
    }
)  # fmt: skip
"""The same of a name that ends in it."""
_MORE: Final = frozenset(
    {
        "saved", "saving", "savings", "reduction", "efficiency", "effectiveness", "accuracy",
        "quality", "throughput", "revenue", "profit", "income", "earned", "earnings", "gain",
        "correct", "f1", "reciprocal", "percentile", "no", "not", "non", "without", "anti",
        "umsatz", "gewinn", "ertrag", "einnahmen",
    }
)  # fmt: skip
"""What a name is of which more is better, whatever else it has."""
_UNITS: Final = frozenset(
    {
        "s", "sec", "secs", "ms", "millis", "min", "mins", "h", "hrs", "hours", "d", "days", "usd",
        "dollars", "cents", "rate", "count", "pct", "percent", "mean", "avg", "median", "total",
        "in", "out", "file", "p50", "p90", "p95", "p99", "score",
    }
)  # fmt: skip
_SLOWEST: Final = frozenset({"p50", "p90", "p95", "p99"})
"""Of times, where a name has nothing else."""
_EARNED: Final = frozenset(
    {
        "sales", "sale", "basket", "order", "orders", "purchase", "purchases", "arpu", "ltv", "gmv",
        "value", "refund", "bonus",
    }
)  # fmt: skip
"""What an amount is of which more may be better, beside those of ``_MORE``."""
_GERMAN: Final = (
    "kosten", "preis", "preise", "ausgaben", "dauer", "zeit", "zeiten", "latenz", "latenzen",
    "sekunden", "minuten", "fehler", "fehlern", "fehlerrate", "fehlerquote", "fehlerzahl",
    "fehleranzahl", "halluzination", "halluzinationen", "abweichung", "abweichungen", "risiko",
    "risiken",
)  # fmt: skip
"""How a word ends in German, whose words are put together, of which less is better."""
_STAYED: Final = frozenset(
    {"watch", "watched", "watching", "page", "site", "engagement", "engaged", "dwell", "viewing",
     "listening", "reading", "retained", "retention"}
)  # fmt: skip
"""Where people stay because they like it: a time there is better if it is longer."""
_NOT_FOR_LIKING: Final = frozenset(
    {"cost", "costs", "price", "prices", "usd", "eur", "spend", "spent", "tokens", "latency",
     "load", "loading", "error", "errors", "bounce", "bounces"}
)  # fmt: skip
_ATTACKS: Final = frozenset(
    {"attack", "attacks", "jailbreak", "jailbreaks", "injection", "injections", "exfiltration"}
)
"""What is better if it fails: less is of a name that ends in it, or in its success."""
_SUCCEEDED: Final = frozenset({"success", "successes", "successful", "succeeded"})
_LOST: Final = frozenset({"loss", "drop", "degradation"})
"""The same of a name that ends in it, whatever is lost."""
_TIMES: Final = frozenset({"s", "sec", "second", "min", "minute", "h", "hour"})


def less_is_better(name: str, *, money: bool = False) -> bool:
    """Whether a metric is one of which less is better, by what it is called.

    Of what is known to be ``money``, less is, unless it is earned.

    Money, times and tokens say so wherever a name has them (``total_cost_eur``); of other names the
    last word does, but for units and sums: ``error rate``. What is had in a time is better with
    more of it (``tokens_per_second``).
    """
    words = words_in(name)
    if words[0].startswith("fail") or words[:2] == ["time", "to"]:
        return True
    if words[0] == "false" and words[1:2] and words[1].rstrip("s") in ("positive", "negative"):
        return True
    if "per" in words[1:]:
        at = words.index("per", 1)
        if set(words[at + 1 : at + 2]) & _TIMES:
            return False
        words = words[:at]
    if words[-1] in _LOST:
        return True
    if set(words) & _STAYED and not set(words) & _NOT_FOR_LIKING:
        return False
    if set(words) & _MORE:
        return False
    if money and not set(words) & _EARNED:
        return True
    if set(words) & _AMOUNTS or set(words) <= _SLOWEST:
        return "score" not in words
    while words and words[-1] in _UNITS:
        words.pop()
    while words and words[-1] in _SUCCEEDED and set(words) & _ATTACKS:
        words.pop()
    return bool(words) and (
        words[-1] in _ATTACKS or words[-1] in _LESS or words[-1].endswith(_GERMAN)
    )


def score_fault(name: str, value: object) -> str:
    """Why a value is no score, in words that name both; empty if it is one."""
    if value is None or (isinstance(value, int | float) and abs(value) <= MOST_SCORE):
        return ""  # of NaN, no comparison is true
    limits = f"between {-MOST_SCORE:g} and {MOST_SCORE:g}"
    return (
        f"the score {name!r} is {value!r:.80}; a score is a finite number {limits}, true or false, "
        "or None where there is none"
    )


def taken_name(name: str) -> str:
    """Why a score cannot have this name, in words; empty if it can.

    What is counted of every session has names of its own, and a comparison or a threshold of one is
    about that.
    """
    if name not in COUNTED:
        return ""
    return (
        f"a score cannot be called {name!r}, as what is counted of every session is: "
        f"{', '.join(sorted(COUNTED))}; give it another name, such as 'own_{name}'"
    )


def score_read(value: float | None) -> float | None:
    """A score that was recorded, or none where no mean and no table could have it."""
    return value if value is not None and abs(value) < MOST_NUMBER else None


def unit_of(metric: str, score_range: tuple[float, float] | None) -> str:
    """What differences of a metric are counted in; empty where its name says it.

    Nor has a share, from 0 to 1, a unit: 0.2 points of it would pass for a fifth of a percentage
    point.

    Args:
        metric: The metric.
        score_range: Least and greatest possible score, where that is known.
    """
    share = score_range is not None and score_range[0] >= 0.0 and score_range[1] <= 1.0
    return "points" if metric == "score" and not share else ""


def name_of(metric: str) -> str:
    """What a sentence calls a metric; the score goes without saying."""
    return "" if metric == "score" else metric


TurnLimit = Literal["keep", "fail"]
"""What a limit of turns makes of a session: ``compare.turn_limit`` of the run spec."""


def at_turn_limit(outcome: str, error_class: str) -> bool:
    """Whether a session ended because it had had all its turns."""
    return outcome == "timeout" and not error_class


def judged_outcome(outcome: Outcome, error_class: str, turn_limit: TurnLimit) -> Outcome:
    """What a session's end means to a verdict.

    One that had all its turns is scored like any other, or, where the spec says so, scored and a
    failure. One that was stopped by a limit of time or money is a failure without a score.
    """
    if outcome != "timeout":
        return outcome
    if not at_turn_limit(outcome, error_class):
        return "failed"
    return "completed" if turn_limit == "keep" else "timeout"


def measured(metric: str, ended: Ended, turn_limit: TurnLimit = "keep") -> float | None:
    """A session's value of a metric, if it came so far that it has one."""
    outcome = judged_outcome(ended.outcome, ended.error_class, turn_limit)
    if metric == FAILED:
        return float(outcome != "completed") if outcome in PLAYED else None
    has_one = PLAYED if metric in OF_FAILURES_TOO else ("completed", "timeout")
    if outcome not in has_one:
        return None
    read = _OF_SESSION.get(metric)
    return ended.measured if read is None else read(ended)


def counted_as(metric: str, outcome: Outcome) -> Outcome:
    """What a session's outcome means to a comparison on a metric.

    A failed session has failed and has cost, so for those metrics it has its value, and counts as a
    failure all the same. ``outcome`` is the one of `judged_outcome`.
    """
    return "timeout" if metric in OF_FAILURES_TOO and outcome == "failed" else outcome
