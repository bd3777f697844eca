"""What a run's results in a file say of the run, and what of two runs is not the same by that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from matrix.engine.prepare.judges import lower_is_better_of
from matrix.engine.prepare.plan_file import texts_of
from matrix.engine.prepare.registry import scoring_kind
from matrix.kinds.protocol import KEPT_KIND
from matrix.model.exported import LONGEST_NOTE, MOST_CHANGES, MOST_NOTES, ExportedFacts
from matrix.model.lines import in_line
from matrix.model.seeds import content_hash
from matrix.report.compare.pairing import pairing_of
from matrix.store.reading.reader import RunTables
from matrix.store.reading.told import facts_given, notes_of, untold_in

_MOST_CONTENTS: Final = 200
_LONGEST: Final = 120


def facts_of(tables: RunTables) -> ExportedFacts:
    """What is said of a run: as it was imported with, or as it was played."""
    run = tables.run
    spec = run.run_spec
    kind = scoring_kind(run.kind, spec.options, kept=run.kind_facts)
    before = facts_given(run)
    compare = spec.compare.model_copy(
        update={"engine": "fixed", "look_at_cap": False, "factor": run.plan.compared}
    )
    found = ExportedFacts(
        run=run.run_id,
        kind=run.kind if before is None else before.kind,
        seed=spec.seed,
        compare=compare.model_copy(update={"metric": run.plan.metric}),
        lower=tuple(sorted(lower_is_better_of(spec, kind))),
        score_range=run.plan.score_range,
        simulated=run.simulated_roles if run.simulated else (),
        mixed=run.mixed,
        notes=tuple(note[:LONGEST_NOTE] for note in notes_of(run)[:MOST_NOTES]),
    )
    if before is not None:
        kept = (
            "contents",
            "options",
            "code",
            "code_changes",
            "redone",
            "unlike",
            "untold",
            "unit",
            "paired",
            "grouped",
            "alone",
        )
        return found.model_copy(update={name: getattr(before, name) for name in kept})
    if run.imported:
        unit = str((spec.options or {}).get("unit") or "")
        pairing = pairing_of(run)
        return found.model_copy(
            update={
                "untold": tuple(sorted(untold_in(tables))),
                "unit": unit,
                "paired": pairing.paired,
                "grouped": pairing.grouped,
                "alone": str((spec.options or {}).get("alone") or ""),
            }
        )
    changed = dict.fromkeys(in_line(one.what)[:_LONGEST] for one in run.code_changes)
    return found.model_copy(
        update={
            "contents": _contents(tables),
            "options": _options(spec.options or {}),
            "code": run.kind_code[:_LONGEST],
            "code_changes": tuple(changed)[:MOST_CHANGES],
            "redone": bool(run.redone),
        }
    )


def _options(given: Mapping[str, Any]) -> dict[str, str] | None:
    """Option -> hash of its value; nothing of very many."""
    if len(given) > _MOST_CONTENTS:
        return None
    return {
        in_line(str(name))[:_LONGEST]: content_hash(value, length=16)
        for name, value in given.items()
    }


def _contents(tables: RunTables) -> dict[str, str]:
    """Scenario -> hash of its texts, but the kind's code; nothing of very many."""
    texts = texts_of(tables.run_dir)
    if len(texts) > _MOST_CONTENTS:
        return {}
    return {
        in_line(scenario)[:_LONGEST]: content_hash(
            [[name, sorted(keys)] for name, keys in sorted(own.items()) if name != KEPT_KIND],
            length=16,
        )
        for scenario, own in texts.items()
    }
