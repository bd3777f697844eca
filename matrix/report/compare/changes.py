"""What is other in one run than in another beside what is compared: prompts, scenarios, judges.

A difference between two runs is laid to the variant only as far as nothing else has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from matrix.engine.prepare.plan_file import texts_of
from matrix.model.exported import CODE, other_options, unlike
from matrix.model.lines import in_line
from matrix.report.compare.facts import facts_of
from matrix.report.text import names_listed
from matrix.store.reading.reader import RunTables
from matrix.store.reading.told import facts_given, tells_failures

_PARTS: Final = ("roles", "agents", "options", "params", "judges", "models", "simulation")

_RULES: Final = ("turn_limit", "confidence", "margin", "failure_margin", "failure_icc", "unit")
"""What of a comparison decides how two runs are judged; those of the second hold."""
_OF_FAILURES: Final = ("failure_margin", "failure_icc")
"""Those of them that say nothing where one of the two does not tell what failed."""


def changes_between(one: RunTables, two: RunTables, *, judged_twice: bool = False) -> str:
    """What is other in the second run, in words; empty if nothing is that plans tell.

    Results that were imported have no plan that tells anything; those of a run of ours have hashes.

    Args:
        one: A run.
        two: Another of the same kind.
        judged_twice: Whether both judge the same transcripts: what only one of them keeps, as
            judges that it was given, is no change of what is judged.
    """
    if one.run.imported or two.run.imported:
        return _of_files(one, two)
    texts = _texts(one, two, of_both=judged_twice)
    of_each = [f"{name} of {names_listed(scenarios)}" for name, scenarios in texts.items()]
    return "; ".join([*of_each, *_parts(one.run.spec, two.run.spec)])


def _of_files(one: RunTables, two: RunTables) -> str:
    """The same where one or both come from files, as far as these say it."""
    before, now = (facts_given(t.run) if t.run.imported else facts_of(t) for t in (one, two))
    if before is None or now is None:
        return ""
    found = unlike(before, now)
    scenarios = [in_line(name) for name in found if name != CODE]
    told = [f"what is played in {names_listed(scenarios)}"] if scenarios else []
    told += [f"options.{in_line(name)}" for name in other_options(before, now)]
    return "; ".join([*told, *([CODE] if CODE in found else [])])


def other_rules(one: RunTables, two: RunTables) -> str:
    """Which rules of the verdict the runs declare otherwise, in words; empty if none."""
    before, now = one.run.run_spec.compare, two.run.run_spec.compare
    untold = not (tells_failures(one.run) and tells_failures(two.run))
    rules = [name for name in _RULES if not (untold and name in _OF_FAILURES)]
    return "; ".join(
        f"compare.{name} is {_said(getattr(before, name))} in {one.run.run_id} and "
        f"{_said(getattr(now, name))} in {two.run.run_id}"
        for name in rules
        if getattr(before, name) != getattr(now, name)
    )


def _said(value: object) -> str:
    return "not set" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _texts(one: RunTables, two: RunTables, *, of_both: bool) -> dict[str, list[str]]:
    """Text -> scenarios of both runs in which it is another; if ``of_both``, is and was there."""
    before, now = texts_of(one.run_dir), texts_of(two.run_dir)
    found: dict[str, list[str]] = {}
    for scenario in (name for name in before if name in now):
        old, new = before[scenario], now[scenario]
        for name in sorted(old.keys() & new.keys() if of_both else old.keys() | new.keys()):
            then, since = old.get(name, _NONE), new.get(name, _NONE)
            # of two that judge the same, one may have fewer sessions, and what these were shown
            same = (then <= since or since <= then) if of_both else then == since
            if not same:
                found.setdefault(name, []).append(scenario)
    return found


_NONE: Final[frozenset[str]] = frozenset()


def _parts(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for part in _PARTS:
        old, new = before.get(part), now.get(part)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            for name in sorted({*old, *new}):
                if old.get(name) != new.get(name):
                    yield f"{part}.{name}"
        elif (old or None) != (new or None):
            yield part
