"""A summary for programs: the same as the text says, as JSON values."""

from __future__ import annotations

from dataclasses import asdict

from matrix.model.money import to_usd
from matrix.model.records import JSON
from matrix.report.compare.compare import FactorComparison
from matrix.report.run.endings import endings_as_data
from matrix.report.run.summary import Summary
from matrix.report.text import ends_as_data
from matrix.store.reading.told import tells_costs
from matrix.store.run.run_folder import CostRange


def summary_as_data(summary: Summary) -> JSON:
    """The same for programs."""
    comparison, whole = summary.comparison, summary.whole
    saved = summary.prompt_cache.saved
    return {
        "run_id": summary.run.run_id,
        "run_dir": str(summary.run_dir),
        "status": summary.run.status,
        "end_reason": summary.run.end_reason,
        "end_detail": summary.run.end_detail,
        "unfinished": summary.unfinished,
        "simulated": summary.run.simulated,
        "simulated_roles": list(summary.run.simulated_roles),
        "branched": None if summary.run.branched is None else summary.run.branched.model_dump(),
        "command": None if summary.run.command is None else summary.run.command.model_dump(),
        "sessions": {"planned": summary.run.plan.sessions, **summary.outcomes},
        "errors": dict(summary.errors),
        **endings_as_data(summary.endings),
        "censored": dict(summary.censored),
        **_used(summary),
        "journal_usd": None if summary.journal_nano is None else to_usd(summary.journal_nano),
        "presumed_usd": to_usd(summary.presumed_nano),
        "unanswered_usd": to_usd(summary.unanswered_nano),
        "overrun_usd": to_usd(summary.overrun_nano),
        "equivalent_usd": {n: to_usd(x) for n, x in summary.equivalent_nano.items()},
        "implausible_usage": dict(summary.implausible),
        "agents_without_cost": [one._asdict() for one in summary.agent_doubts],
        "moved_models": {model: dict(names) for model, names in summary.moved.items()},
        "estimate_usd": _range(summary.run.estimate),
        "pilot_usd": _range(summary.run.pilot),
        "cap_usd": to_usd(summary.run.cap_nano),
        "stopping": None if summary.run.stopping is None else summary.run.stopping.model_dump(),
        "cache": {
            "calls": summary.cache.calls,
            "saved_usd": to_usd(summary.cache.saved),
        },
        "prompt_cache": {
            "tokens": summary.prompt_cache.cached,
            "share": summary.prompt_cache.share,
            "saved_usd": None if saved is None else to_usd(saved),
        },
        "by_role_usd": {role: to_usd(cost) for role, cost in summary.role_nano.items()},
        "by_rubric": {
            name: {
                "calls": use.calls,
                "usd": to_usd(use.spent_nano),
                "tokens_in": use.tokens_in,
                "tokens_out": use.tokens_out,
            }
            for name, use in summary.rubrics.items()
        },
        "unjudged": {name: one._asdict() for name, one in summary.unjudged.items()},
        "judging": summary.judging.data,
        "rejudged": [
            {**one._asdict(), "rows": [row._asdict() for row in one.rows]}
            for one in summary.rejudged
        ],
        "judge_check": None if summary.standing is None else asdict(summary.standing),
        "comparison": None if comparison is None else comparison_as_data(comparison),
        "whole": None if whole is None else {"metric": whole.metric, **asdict(whole.row)},
        "unscored": {one.level: one.without for one in summary.unscored},
        "replayed": None if summary.replayed is None else asdict(summary.replayed),
        "gate": None if summary.run.gate is None else summary.run.gate.model_dump(mode="json"),
    }


def _used(summary: Summary) -> dict[str, JSON]:
    """What was used and spent; of imported results what their files say, ``None`` without."""
    totals = summary.run.totals
    if summary.run.imported and totals is not None:
        spent = to_usd(totals.settled_nano)
        return {
            "calls": totals.calls or None,
            "turns": None,
            "tokens_in": totals.tokens_in or None,
            "tokens_out": totals.tokens_out or None,
            "spent_usd": spent if spent or tells_costs(summary.run) else None,
        }
    return {
        "calls": summary.calls,
        "turns": summary.turns,
        "tokens_in": summary.tokens_in,
        "tokens_out": summary.tokens_out,
        "spent_usd": to_usd(summary.spent_nano),
    }


def comparison_as_data(comparison: FactorComparison) -> JSON:
    """A comparison for programs."""
    verdict = comparison.verdict
    levels = [row.level for row in comparison.rows]
    return {
        "factor": comparison.factor,
        "metric": comparison.metric,
        "higher_is_better": verdict.rules.higher_is_better,
        "verdict": verdict.kind,
        "winner": None if verdict.winner is None else levels[verdict.winner],
        "void": None if comparison.void is None else comparison.void.data,
        "sentence": comparison.sentence,
        "rests_on": comparison.rests_on,
        "cautions": list(comparison.cautions),
        "reasons": list(verdict.reasons),
        "flags": list(verdict.flags),
        "rounds": {
            "planned": verdict.rounds_planned,
            "complete": verdict.rounds_complete,
            "used": verdict.rounds_used,
            "still_needed": verdict.extra_rounds,
            "still_needed_for_a_winner": verdict.winner_rounds,
        },
        "left_out": None if comparison.left_out is None else asdict(comparison.left_out),
        "variants": [asdict(row) for row in comparison.rows],
        "pairs": [
            {
                "a": levels[pair.a],
                "b": levels[pair.b],
                "rounds": pair.n,
                "difference": pair.difference,
                **ends_as_data(pair.interval),
                "p": pair.p,
                "level": pair.level,
                "void": undone,
            }
            for pair, undone in zip(verdict.comparisons, comparison.undone, strict=True)
        ],
        "missing_scores": [
            {
                "variant": levels[one.variant],
                "rival": levels[one.rival],
                "missing": one.missing,
                "rival_missing": one.rival_missing,
                "turns_at": one.turns_at,
                "overturned": one.overturned,
            }
            for one in verdict.sensitivity
        ],
    }


def _range(cost: CostRange | None) -> JSON:
    if cost is None:
        return None
    return {"low": to_usd(cost.low), "middle": to_usd(cost.middle), "high": to_usd(cost.high)}
