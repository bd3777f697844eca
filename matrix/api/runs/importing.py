"""Importing results that were made elsewhere: a run of them, to be compared and reported."""

from __future__ import annotations

import os
import platform
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import SystemRandom
from typing import Final, NamedTuple

import orjson

from matrix.api.opened import RESULTS, Run
from matrix.api.runs.lifecycle import checked_id
from matrix.api.runs.run_descriptions import git_commit
from matrix.engine.prepare.keys import ENV_NAME, known_secrets
from matrix.kinds.imported import IMPORTED, KIND, ImportedOptions
from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.files import read_plain
from matrix.model.lines import in_line, words_in
from matrix.model.metrics import direction_told, less_is_better
from matrix.model.records import OUTCOMES
from matrix.model.seeds import content_hash
from matrix.model.spec.run_spec import Compare, RunSpec
from matrix.store.foreign.arranging import (
    WHOLE,
    Arranged,
    arrange,
    require_scores,
    tells_range,
)
from matrix.store.foreign.cleaning import Cleaning
from matrix.store.foreign.results import (
    LONGEST_NAME,
    MOST_BYTES,
    NONE,
    ForeignResults,
    Wishes,
    in_several,
    outcome_of,
)
from matrix.store.run.driven import setting_up
from matrix.store.run.made_here import PLAN_NAME
from matrix.store.run.run_folder import (
    PlanSummary,
    RunFile,
    RunTotals,
    Versions,
    create_run,
    new_run_id,
    write_whole,
)
from matrix.version import __version__

_ANY_FAILURES: Final = 100.0
"""Points by which a winner may fail more often where the files do not tell failures."""


_MOST_NAMED: Final = 30
"""Metrics of a direction that are named on the screen."""

_MANY: Final = 50_000
"""Rows from which on it takes so long that it is told how far it is."""


def _to_nobody(told: str) -> None:
    """For who does not want to hear how far an import is."""


class Imported(NamedTuple):
    """What an import came to.

    Attributes:
        run: The run of it.
        taken: What was taken for what: label and text.
        notes: What is worth knowing of it, in sentences.
    """

    run: Run
    taken: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def import_results(
    path: str | Path | Sequence[str | Path],
    *,
    unit: str | None = None,
    variant: str | Sequence[str] = (),
    score: str | None = None,
    cost: str | None = None,
    scenario: str | None = None,
    repeat: str | None = None,
    status: str | None = None,
    failed: str | Sequence[str] = (),
    lower_is_better: bool | None = None,
    lower: str | Sequence[str] = (),
    results: str | Path = RESULTS,
    run_id: str | None = None,
    clock: Callable[[], float] = time.time,
) -> Run:
    """Make a run of results that exist: promptfoo's, inspect_ai's, a CSV, Parquet or JSON lines.

    Nothing is played, asked or paid. The run has tables and no journal: it is compared, reported
    and planned from as others are, and cannot be gone on with. Columns are found by their usual
    names where they are not named here; other columns of numbers become further metrics.

    Args:
        path: The file, or several of one form.
        unit: Column that says which rows of several variants belong together; ``none`` where
            nothing does, and variants are compared as samples that share nothing.
        variant: Column that says what was compared, or several. Without one, each of several files
            is a variant.
        score: Column of what decides; of inspect_ai's logs, the scorer.
        cost: Column of what a row cost, in US dollars. It counts to no cap.
        scenario: Column of scenarios, which weigh alike; ``none`` for none.
        repeat: Column that tells repeats of one unit and variant apart.
        status: Column of how results ended, in words: ``error``, ``timeout``, ``failed`` and so on
            are failures, and have no score. A word that is not known is none, and told in the
            ``caveats`` of ``compare``, as all is that a verdict has to be read with; where it is
            all there is of a result, nothing is said of failures.
        failed: Other words of the status that are failures.
        lower_is_better: Whether a lower score is the better one; by its name, if left out.
        lower: Other metrics of which less is better, beside those whose names say it, such as
            ``latency`` and ``error_rate``.
        results: Folder of runs.
        run_id: Name of the run; made up if left out.
        clock: Unix time in seconds.

    Raises:
        BadInput: Every mistake in the files and arguments; nothing was written.
        RunExists: There is a run of this id.
        StoreError: The folder cannot be written.
    """
    chosen = (variant,) if isinstance(variant, str) else tuple(variant)
    less = (lower,) if isinstance(lower, str) else tuple(lower)
    words = (failed,) if isinstance(failed, str) else tuple(failed)
    wishes = Wishes(unit, chosen, score, cost, scenario, repeat, status, less, words)
    paths = [path] if isinstance(path, str | Path) else list(path)
    return import_as(
        [Path(one) for one in paths],
        wishes,
        lower=lower_is_better,
        results=results,
        run_id=run_id,
        clock=clock,
    ).run


def import_as(
    paths: Sequence[Path],
    wishes: Wishes,
    *,
    lower: bool | None,
    results: str | Path,
    run_id: str | None,
    clock: Callable[[], float] = time.time,
    listener: Callable[[str], None] = _to_nobody,
) -> Imported:
    """:func:`import_results`, with what was taken for what; a listener hears how far it is."""
    from matrix.store.foreign.reading import files_of, read_results
    from matrix.store.foreign.writing import write_results

    mistakes = Mistakes()
    if not paths:
        raise BadInput([Mistake("matrix import", None, "", "name a file of results")])
    mistakes.collect(lambda: checked_id(run_id) if run_id else None)
    secrets = known_secrets(Path.cwd() / ENV_NAME, os.environ)
    clean = Cleaning(secrets)
    files = mistakes.collect(lambda: files_of(paths))
    read = mistakes.collect(lambda: read_results(files, wishes, secrets)) if files else None
    if mistakes.found or read is None or not files:
        raise BadInput(mistakes.found)
    paths = files
    source = str(paths[0])
    _check_lower(read, wishes, lower=lower)
    by_name = lower is None
    lower = _scores_low(read) if lower is None else lower
    require_scores(read, source)
    if len(read.rows) >= _MANY:
        listener(f"{len(read.rows):,} rows are read; a run is made of them")
    arranged = arrange(read, source, must_pair=wishes.unit not in (None, NONE))
    now = datetime.fromtimestamp(clock(), UTC)
    less, kept = _lower_metrics(read, wishes), _weighty(read, arranged, wishes)
    spec = _spec(paths, read, arranged, clean, less, kept, lower=lower)
    identity = run_id or new_run_id(spec.name, now, SystemRandom())
    file = _run_file(spec, identity, now, read, arranged)
    sources = [_source_of(path, clean) for path in paths]

    def set_up(staging: Path) -> None:
        write_whole(staging, PLAN_NAME, orjson.dumps({"imported": sources}).decode() + "\n")
        write_results(staging, file.info, IMPORTED, arranged)

    with setting_up(Path(results)):
        run_dir = create_run(Path(results), file, set_up)
    taken = _taken(read, arranged, less, _direction(read, lower=lower, by_name=by_name))
    return Imported(Run(run_dir), taken, (*kept, *_notes(read)))


def _check_lower(read: ForeignResults, wishes: Wishes, *, lower: bool | None) -> None:
    """See that what is said of directions can be said.

    Raises:
        BadInput: Every mistake in it.
    """
    mistakes = []
    flag = "--lower-is-better" if lower else "--higher-is-better"
    said = {flag: lower is not None, "--lower": bool(wishes.lower)}
    if read.exported is not None:
        told = "is not for results that a run was exported to: they say which scores are better low"
        mistakes = [Mistake(flag, None, "", told) for flag, there in said.items() if there]
    else:
        known = sorted({name for row in read.rows for name in row.metrics})
        for name in wishes.lower:
            if name not in known:
                listed = ", ".join(known[:30]) or "none"
                told = f"found {name!r}; metrics are {listed}{did_you_mean(name, known)}"
                mistakes.append(Mistake("--lower", None, "", told))
    if read.exported is None and lower is None and _may_be_grades(read):
        told = (
            f"{read.score_name!r} from 1 to 6 may be a school grade, of which 1 is best, or "
            "points, of which more are better: say --lower-is-better or --higher-is-better"
        )
        mistakes.append(Mistake("matrix import", None, "", told))
    if mistakes:
        raise BadInput(mistakes)


_GRADES: Final = frozenset({"note", "noten", "schulnote", "gesamtnote"})
"""What German grades are called."""
_BEST_GRADE, _WORST_GRADE = 1.0, 6.0


def _may_be_grades(read: ForeignResults) -> bool:
    """Whether scores are what German schools give; French ones of that name go on to 20."""
    if not set(words_in(read.score_name)) & _GRADES:
        return False
    scores = [row.score for row in read.rows if row.score is not None]
    return all(_BEST_GRADE <= score <= _WORST_GRADE for score in scores)


def _scores_low(read: ForeignResults) -> bool:
    """Whether the score is something of which less is better, by what it is called."""
    return read.exported is None and _less(read, read.score_name)


def _lower_metrics(read: ForeignResults, wishes: Wishes) -> list[str]:
    """Metrics of which less is better, as was said or by what they are called."""
    if read.exported is not None:
        return []
    names = {name for row in read.rows for name in row.metrics}
    return sorted(name for name in names if name in wishes.lower or _less(read, name))


def _less(read: ForeignResults, name: str) -> bool:
    return less_is_better(name, money=name in read.money)


def _source_of(path: Path, clean: Cleaning) -> dict[str, str | int]:
    try:
        content = read_plain(path, MOST_BYTES)
    except OSError as error:
        raise BadInput(
            [Mistake(str(path), None, "", f"cannot be read: {error.strerror}")]
        ) from None
    return {
        "file": clean.text(path.name),
        "bytes": len(content),
        "sha256": sha256(content).hexdigest(),
    }


def _spec(
    paths: Sequence[Path],
    read: ForeignResults,
    arranged: Arranged,
    clean: Cleaning,
    less: Sequence[str],
    kept: Sequence[str],
    *,
    lower: bool,
) -> RunSpec:
    """What the run says of itself: a comparison of one look, declared by nobody."""
    options = ImportedOptions(
        files=tuple(in_line(clean.text(path.name)) for path in paths),
        form=read.form,
        unit=in_line(read.unit[:LONGEST_NAME]) if arranged.paired or arranged.grouped else "",
        grouped=arranged.grouped,
        units=arranged.units,
        repeats=arranged.repeats,
        taken=dict(read.taken),
        better="lower" if lower else "higher",
        lower=tuple(less),
        score_range=_score_range(read),
        tells_failures=read.tells_failures,
        tells_costs=read.tells_costs,
        no_costs=read.no_costs,
        alone=read.alone or (read.exported.alone if read.exported is not None else ""),
        exported=read.exported,
        notes=tuple(kept),
    )
    compare = Compare(factor=_compared(read, arranged), engine="fixed")
    if not read.tells_failures:
        compare = compare.model_copy(update={"failure_margin": _ANY_FAILURES})
    if read.exported is not None:
        declared = {"engine": "fixed", "factor": compare.factor, "look_at_cap": False}
        compare = read.exported.compare.model_copy(update=declared)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", clean.text(paths[0].stem)).strip("-._")[:40]
    return RunSpec(
        name=name or IMPORTED,
        kind=IMPORTED,
        factors=arranged.levels,
        compare=compare,
        options=options.model_dump(mode="json"),
        **({} if read.exported is None else {"seed": read.exported.seed}),
    )


def _score_range(read: ForeignResults) -> tuple[float, float] | None:
    return tells_range(read.rows) if read.exported is None else read.exported.score_range


def _compared(read: ForeignResults, arranged: Arranged) -> str | None:
    several = [factor for factor, levels in arranged.levels.items() if len(levels) > 1]
    declared = None if read.exported is None else read.exported.compare.factor
    return declared if declared in several else next(iter(several), None)


def _run_file(
    spec: RunSpec, run_id: str, now: datetime, read: ForeignResults, arranged: Arranged
) -> RunFile:
    rows, exported = read.rows, read.exported
    dumped = spec.model_dump(mode="json")
    ends = Counter(outcome_of(row) for row in rows)
    return RunFile(
        run_id=run_id,
        created_at=now,
        name=spec.name,
        kind=IMPORTED,
        spec=dumped,
        spec_hash=content_hash(dumped),
        prices_hash=content_hash({}),
        versions=Versions(
            matrix=__version__,
            python=platform.python_version(),
            kind=KIND.version,
            state=KIND.state_version,
        ),
        git_commit=git_commit(Path.cwd()),
        status="complete",
        end_reason="done",
        imported=True,
        plan=PlanSummary(
            sessions=len(rows),
            cells=len({(placed.scenario, placed.row.levels) for placed in arranged.placed}),
            rounds=arranged.rounds,
            scenarios=arranged.scenarios,
            factors=arranged.levels,
            compared=_compared(read, arranged),
            metric=spec.compare.metric,
            score_range=_score_range(read),
        ),
        simulated=read.simulated or bool(exported and exported.simulated),
        stand_ins=_stand_ins(read),
        mixed=exported is not None and exported.mixed,
        cap_nano=0,
        totals=RunTotals(
            outcomes={outcome: ends[outcome] for outcome in OUTCOMES},
            calls=sum(row.calls for row in rows),
            tokens_in=sum(row.tokens_in for row in rows),
            tokens_out=sum(row.tokens_out for row in rows),
            settled_nano=sum(row.cost_nano for row in rows),
            presumed_nano=0,
            elapsed_s=0.0,
        ),
    )


def _stand_ins(read: ForeignResults) -> dict[str, tuple[str, ...]] | None:
    """Role -> that a simulated model plays it; ``None`` where only some role is known to have."""
    if read.exported is not None:
        return dict.fromkeys(read.exported.simulated, ("simulated",))
    return None if read.simulated else {}


def _taken(
    read: ForeignResults, arranged: Arranged, less: Sequence[str], direction: str
) -> tuple[tuple[str, str], ...]:
    """What was taken for what, with how much of it there is."""
    counts = {
        "variant": " x ".join(f"{len(levels):,}" for levels in arranged.levels.values()),
        "scenario": f"{len(arranged.scenarios):,}, which weigh alike"
        * (arranged.scenarios != (WHOLE,)),
        "score": direction,
        "repeat": f"{arranged.repeats:,} at most",
        "unit": f"{_count_units(arranged):,}",
    }
    used = arranged.paired or arranged.grouped
    known = [(label, text) for label, text in read.taken if label != "unit" or used]
    if directions := _directions(read, less):
        labels = [label for label, _ in known]
        place = labels.index("metrics") + 1 if "metrics" in labels else len(labels)
        known.insert(place, ("", directions))
    return tuple(
        (label, f"{text} ({counts[label]})" if counts.get(label) else text) for label, text in known
    )


def _direction(read: ForeignResults, *, lower: bool, by_name: bool) -> str:
    """Whether more or less of the score is better, and, where its name says it, what turns it."""
    if read.exported is not None:
        return ""  # the run that was exported says it
    told = direction_told(lower=lower)
    turn = "--higher-is-better" if lower else "--lower-is-better"
    return f"{told}; {turn} turns it" if by_name else told


def _count_units(arranged: Arranged) -> int:
    if arranged.grouped:  # the same name in two variants may be two units
        return len({(one.row.unit, one.row.levels) for one in arranged.placed})
    return len({one.row.unit for one in arranged.placed})


def _directions(read: ForeignResults, less: Sequence[str]) -> str:
    """Of which metrics less is better and of which more, as comparisons take them."""
    if read.exported is not None:
        return ""  # the run that was exported says it
    more = sorted({name for row in read.rows for name in row.metrics} - {*less})
    sides = ((True, less), (False, more))
    return "; ".join(
        f"{direction_told(lower=low)}: {_some(names)}" for low, names in sides if names
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _weighty(read: ForeignResults, arranged: Arranged, wishes: Wishes) -> list[str]:
    """What the run keeps, as every verdict on it has to be read with it."""
    if arranged.paired or wishes.unit == NONE:
        return [*read.notes, *arranged.notes]
    unit = in_line(read.unit[:LONGEST_NAME])
    why = "no column of a usual name says which rows belong together"
    if unit:
        several, units = in_several((row.unit, row.levels) for row in read.rows)
        why = f"no {unit} is in two variants"
        if several:
            why = f"no more than {several:,} of {units:,} of {unit} are in two variants"
    taken = "Rows are taken as independent samples of each variant"
    if arranged.grouped:
        taken = (
            f"Each {unit} counts once for its variant, with the mean of its rows (up to "
            f"{arranged.repeats:,}), and as independent of the others"
        )
    if read.exported is not None:
        told = f"Not paired: nothing in the run that was exported was. {taken}."
        return [*(read.notes or (told,)), *arranged.notes]
    told = f"Not paired: {why}. {taken}; if they are answers to the same questions, name the column"
    return [*read.notes, f"{told} that says which: --unit COLUMN.", *arranged.notes]


def _notes(read: ForeignResults) -> list[str]:
    """What else is worth knowing, in sentences."""
    if read.exported is not None:
        return []  # outcomes say it
    notes = []
    if lost := sum(row.score is None and not row.error for row in read.rows):
        notes.append(f"{lost:,} of {len(read.rows):,} rows have no score, and are in no mean.")
    if failed := sum(bool(row.error) for row in read.rows):
        notes.append(
            f"{failed:,} of {len(read.rows):,} rows say that something went wrong: they count as "
            "failures, and have no score, as nobody can say whose fault it was."
        )
    return notes
