"""A comparison for programs: the same figures as the text has, as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from matrix.model.money import to_usd
from matrix.model.records import JSON
from matrix.report.run.summary_data import comparison_as_data
from matrix.report.study.settling import Settling
from matrix.report.study.study import Study


def study_as_data(study: Study) -> JSON:
    """All sections; every metric is listed, and a section with nothing to say is null."""
    rules = study.verdict.rules
    return {
        **comparison_as_data(study.comparison),
        "unit": study.unit,
        "simulated": bool(study.simulated),
        "simulation": study.simulated,
        "higher_is_better": rules.higher_is_better,
        "alpha": rules.alpha,
        "margin": rules.delta,
        "engine": rules.engine,
        "caveats": list(study.caveats),
        "against": study.against,
        "differences": [asdict(pair) for pair in study.pairs],
        "advice": study.advice,
        "settling": _settling(study.settling),
        "breakdown": _or_null(study.breakdown),
        "new_scenarios": asdict(study.elsewhere),
        "other_metrics": _or_null(study.secondary),
        "cost_quality": _or_null(study.cost_quality),
        "noise": _or_null(study.noise),
        "judge_agreement": _or_null(study.agreement),
        "judge_check": _or_null(study.standing),
        "by_people": _or_null(study.people),
        "decision_aid": _or_null(study.risk),
    }


def _or_null(section: Any) -> JSON:
    return None if section is None else asdict(section)


def _settling(settling: Settling) -> JSON:
    return {
        "rounds": settling.rounds,
        "winner_rounds": settling.winner_rounds,
        "cost_usd": None if settling.cost_nano is None else to_usd(settling.cost_nano),
        "round_usd": None if settling.round_nano is None else to_usd(settling.round_nano),
        "sentence": settling.sentence,
    }
