"""``python -m benchmarks.planted``: how often a judge of criteria is wrong, where it is known.

python -m benchmarks.planted                                     simulated judge
python -m benchmarks.planted --judge sim/haiku                   another one
python -m benchmarks.planted --agents opus --judge sonnet --max-cost 60    real ones

The shipped chain is played as it is, and with ten prompts that lost an instruction each. What the
chain as it is puts out is known to be good, what an agent with a broken prompt puts out to be bad.
These labels are planted: they stand for people's, and go through the same check as those of
``matrix label --check``.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

SHIPPED: Final = Path(__file__).parent.parent / "scenarios"

REGRESSIONS: Final = {
    "concept_expansion": ("- `## Use cases`.*\n", ""),
    "market_intelligence": ("- `## Trends`.*\n", ""),
    "competitor_analysis": (" and `Weakness`", ""),
    "startup_validator": ("one of `Overall risk: HIGH`.*", "how high it is"),
    "validation_summary": ("one of `GO`.*", "what to do"),
    "mvp_scope": ("four of them, numbered `IN-1`", "two of them, numbered `IN-1`"),
    "capability_model": ("`CAP-F-1`", "`FEATURE-1`"),
    "build_buy_advisor": (" and `Rationale`", ""),
    "story_generator": ("with `implements:CAP-\\*` and", "with"),
    "dependency_orderer": (", with `after:STORY-\\*`", ""),
}
"""Agent -> what is taken out of its prompt, and what is put there."""

AS_WRITTEN: Final = "as-written"


def broken(agent: str) -> str:
    """The prompt of an agent without one of its instructions."""
    before, after = REGRESSIONS[agent]
    text = (SHIPPED / "criteria" / "prompts" / f"{agent}.md").read_text(encoding="utf-8")
    changed = re.sub(before, after, text)
    if changed == text:
        raise ValueError(f"the prompt of {agent} has nothing that could be broken")
    return changed


def with_regressions() -> dict[str, Any]:
    """The shipped chain with a variant for every broken prompt."""
    spec: dict[str, Any] = yaml.safe_load(
        (SHIPPED / "runs" / "criteria.yaml").read_text(encoding="utf-8")
    )
    return {**spec, "variants": {agent: {agent: broken(agent)} for agent in REGRESSIONS}}


def measure(agents: str, judge: str, max_cost: float | None) -> str:
    """Play both, and check the judge; text.

    Raises:
        MatrixError: A model cannot be asked, or the cap was reached.
    """
    from matrix import api
    from matrix.report.compare.judges.judge_check import check_judge
    from matrix.report.compare.judges.judge_check_text import check_as_text
    from matrix.store.reading.reader import RunTables
    from matrix.store.shared.labels import Label, judged_values

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "agents.yaml"
        path.write_text(yaml.safe_dump(with_regressions()), encoding="utf-8")
        run = api.run(
            path,
            models={"agent": agents, "judge": judge},
            max_cost=max_cost,
            results=folder / "results",
            executor="in-process",
        )
        tables, now, labels = RunTables(run.path), datetime.now(UTC), list[Label]()
        frame = tables.frame("sessions", ["session_id", "variant"])
        variants = dict(zip(frame.session_id, frame.variant.astype(str), strict=True))
        for agent in with_regressions()["agents"]:
            for session, (value, who) in judged_values(tables, agent).items():
                if variants[session] in (AS_WRITTEN, agent):
                    labels.append(
                        Label(
                            run=run.id,
                            session=f"{session} {agent}",
                            metric="planted",
                            rater="planted",
                            value=float(variants[session] == AS_WRITTEN),
                            judge_value=value,
                            judge_model=who.model,
                            rubric_hash=who.rubric,
                            at=now,
                        )
                    )
        return check_as_text(check_judge("planted", labels))


def main() -> None:
    """Measure one judge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted")
    parser.add_argument("--agents", default="sim/gpt-4o-mini")
    parser.add_argument("--judge", default="sim/gpt-4o-mini")
    parser.add_argument("--max-cost", type=float)
    given = parser.parse_args()
    print(measure(given.agents, given.judge, given.max_cost))


if __name__ == "__main__":
    main()
