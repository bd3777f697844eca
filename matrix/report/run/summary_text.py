"""A summary as text: facts, variants, verdict, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matrix.model.entries import NEEDLESS
from matrix.model.money import show_usd
from matrix.report.compare.compare import VariantRow
from matrix.report.compare.unscored import unscored_told
from matrix.report.run.endings import ErrorClass
from matrix.report.run.judging_notes import unjudged_lines
from matrix.report.run.rejudged import rejudged_lines
from matrix.report.run.replayed import replayed_as_text
from matrix.report.run.runs import failings
from matrix.report.run.summary import Summary
from matrix.report.text import (
    WIDTH,
    columns,
    duration,
    facts,
    harmless,
    noted,
    plural,
    tokens,
    usd_each,
    with_interval,
    wrapped,
)
from matrix.store.reading.told import notes_of, tells_costs, why_no_costs
from matrix.store.run.made_here import NOT_MADE_HERE, is_made_here
from matrix.store.run.run_folder import (
    BranchedFrom,
    CostRange,
    RunFile,
    RunTotals,
    Stopping,
    results_flag,
    resume_command,
)

_MOST_CAUSES = 3
"""Reasons of one outcome that are told, each with its sessions."""

_AFTER_ENDED = 4
"""Where in the table of variants the column of sessions without a score is put."""

MOST_CLASSES = 8
"""Classes of errors whose newest reason is told."""

"""Folder of runs that commands look in when they are not told otherwise."""


def verdict_line(summary: Summary) -> str:
    """The verdict in one sentence, or why there is none; and whose sessions have no score."""
    compared = summary.comparison is not None
    lost = unscored_told(summary.unscored, summary.run.plan.metric, named=compared)
    if summary.comparison is None:
        return " ".join(filter(None, [summary.no_comparison, lost]))
    said = summary.comparison.sentence + noted(summary.run.simulation)
    return " ".join(filter(None, [said, lost]))


def summary_as_text(summary: Summary, *, width: int = WIDTH) -> str:
    """The whole summary, for the end of a run and for ``matrix show RUN``."""
    parts = [head_line(summary), facts(labelled_facts(summary), width=width)]
    parts += ["", verdict_as_text(summary, width=width)]
    parts += [wrapped(told, "  caveat:   ", width=width) for told in notes_of(summary.run)]
    if summary.standing is not None:
        parts += [wrapped(summary.standing.sentence, "  judge:    ", width=width)]
    if told := defect_as_text(summary):
        parts += ["", told]
    parts += ["", "Next:", *(f"  {line}" for line in _next(summary))]
    parts += summary.run.gate.lines if summary.run.gate is not None else ()
    return "\n".join(parts)


def verdict_as_text(summary: Summary, *, width: int = WIDTH) -> str:
    """The variants, the verdict, and what it rests on; or why there is none."""
    parts = []
    if summary.comparison is not None:
        parts += [_columns(*variant_table(summary))]
        if told := _no_mean_yet(summary):
            parts += [wrapped(told, width=width)]
        parts += ["", wrapped(verdict_line(summary), "Verdict: ", width=width)]
        parts += [
            wrapped(told, "  mind:     ", width=width) for told in summary.comparison.cautions
        ]
        parts += [wrapped(summary.comparison.rests_on, "  rests on: ", width=width)]
    else:
        parts += [_columns(*variant_table(summary)), ""] if summary.whole is not None else []
        parts += [wrapped(verdict_line(summary), width=width)]
    return "\n".join(parts)


def _no_mean_yet(summary: Summary) -> str:
    """Why no variant has a mean though sessions have scores; empty where one has, or none has."""
    comparison = summary.comparison
    if comparison is None or comparison.unit != "round" or not summary.endings.scored:
        return ""
    if comparison.verdict.rounds_complete or any(row.mean is not None for row in comparison.rows):
        return ""
    of = plural(summary.run.plan.cells, "session")
    return f"no means yet: they are of complete rounds, of {of} each, and none is complete"


def head_line(summary: Summary) -> str:
    """The run, how it ended, and how long it took."""
    run = summary.run
    status = run.status if run.end_reason in ("", "done") else (f"{run.status}: {run.end_reason}")
    took = "" if run.totals is None or run.imported else f" in {duration(run.totals.elapsed_s)}"
    return f"run {run.run_id} ({status}{failings(run)}){took}"


def labelled_facts(summary: Summary) -> list[tuple[str, str]]:
    """Everything but the comparison: label and text of every line; without a label, it goes on."""
    run = summary.run
    total = sum(summary.outcomes.values())
    counts = dict(summary.outcomes)
    needless = sum(summary.censored.get(name, 0) for name in NEEDLESS)
    counts["censored"] -= needless
    told = [f"{n:,} {name}" for name, n in counts.items() if n]
    told += [f"{needless:,} not needed"] if needless else []
    shown = ", ".join(told) or "none yet"
    rows = [("sessions", f"{shown}; {total:,} of {run.plan.sessions:,} planned")]
    rows += _command_facts(run)
    if run.branched is not None:
        rows.insert(0, ("from", _from(run.branched)))
    if not is_made_here(summary.run_dir, run):
        rows.insert(0, ("received", NOT_MADE_HERE))
    if summary.replayed is not None:
        rows.append(("score", replayed_as_text(summary.replayed)))
    if run.end_detail:
        rows.append(("stopped", run.end_detail))
    if run.status == "running":
        so_far = "the run goes on: this is what its tables have by now, sessions once they ended"
        rows.append(("so far", so_far))
    if summary.unfinished:
        rows.append(
            (
                "unfinished",
                "the run was stopped at once, so its tables lack what came last, and figures here "
                f"are too low; `matrix repair {run.run_id}` or resuming it mends that",
            )
        )
    if summary.errors:
        found = ", ".join(f"{name} {count:,}" for name, count in summary.errors.items())
        rows.append(("errors", found))
        rows += [("", line) for line in reasons(summary)]
    rows += losses(summary)
    rows += rejudged_lines(summary.rejudged, summary.run_dir)
    rows += [*unjudged_lines(summary.unjudged), *summary.judging.lines]
    cut = [f"{n:,} by {name}" for name, n in summary.censored.items() if name not in NEEDLESS]
    if cut:
        why = [f"; {word}: {more}" for word, more in summary.cut_short.items()]
        told = [f"{', '.join(cut)} (cut short or not begun, so they count for no variant)", *why]
        rows.append(("censored", "".join(told)))
    rows += _stopping(run.stopping, run.plan.rounds)
    rows += _replaced(run.totals)
    if run.imported:
        return rows + _imported(summary)
    rows.append(
        (
            "used",
            f"{plural(summary.turns, 'turn')}, {plural(summary.calls, 'call')}, "
            f"{tokens(summary.tokens_in)} tokens in, {tokens(summary.tokens_out)} out",
        )
    )
    simulated = noted(run.simulation)
    rows.append(
        (
            "spent",
            f"{show_usd(summary.spent_nano)}{_of_it(summary)} of {show_usd(run.cap_nano)}"
            f"{simulated}{_ahead(summary)}",
        )
    )
    rows += _estimates(run) + _doubts(summary)
    roles = ", ".join(
        f"{role} {show_usd(cost)} ({cost / max(1, summary.spent_nano):.0%})"
        for role, cost in summary.role_nano.items()
    )
    if roles:
        rows.append(("by role", roles))
    if len(summary.rubrics) > 1:
        rows.append(("by rubric", _by_rubric(summary)))
    return rows + _caches(summary)


def _imported(summary: Summary) -> list[tuple[str, str]]:
    """What an import took for what, and what its results cost, as it says."""
    options = summary.run.spec.get("options") or {}
    taken = "; ".join(f"{label}: {text}" for label, text in (options.get("taken") or {}).items())
    files = ", ".join(map(str, options.get("files") or ()))
    rows = [("imported", f"{files}, {options.get('form', '')}"), ("taken", taken)]
    return [*rows, ("spent", f"{spent_line(summary)}")]


def spent_line(summary: Summary) -> str:
    """What was spent, of what cap; of imported results only they themselves say it."""
    spent = show_usd(summary.spent_nano)
    if not (summary.spent_nano or tells_costs(summary.run)):
        why = why_no_costs(summary.run)
        return (
            f"{why}, so nothing is said of costs" if why else "what they cost is not in the files"
        )
    if summary.run.imported:
        return f"{spent} elsewhere, as the files say; it counts to no cap"
    return f"{spent} of {show_usd(summary.run.cap_nano)} spent"


def _by_rubric(summary: Summary) -> str:
    uses = list(summary.rubrics.items())
    told = [
        f"{name} {show_usd(use.spent_nano)} ({tokens(use.tokens_in)} in, "
        f"{tokens(use.tokens_out)} out)"
        for name, use in uses[:MOST_CLASSES]
    ]
    left = len(uses) - MOST_CLASSES
    return ", ".join([*told, *([f"and {left} more"] if left > 0 else [])])


def _ahead(summary: Summary) -> str:
    """What the journal has of money that the tables do not have yet."""
    if summary.journal_nano is None or summary.journal_nano <= summary.spent_nano:
        return ""
    return f"; {show_usd(summary.journal_nano)} by the journal, what is out counted in"


def reasons(summary: Summary) -> list[str]:
    """The newest reason of every class of errors that ended sessions, one line each."""
    errors = summary.endings.errors
    told = [f"{one.name}: {one.reason} (newest: {one.newest})" for one in errors[:MOST_CLASSES]]
    left = plural(len(errors) - MOST_CLASSES, "more class", "more classes")
    return told + [f"... and {left}"] * (len(errors) > MOST_CLASSES)


def losses(summary: Summary) -> list[tuple[str, str]]:
    """How sessions ended that count against their variant without any error: outcome, and why."""
    rows = []
    for one in summary.endings.losses:
        told = f"{plural(one.sessions, 'session')}: {_causes(one)}"
        if one.name == "timeout":
            kept = summary.run.spec.get("compare", {}).get("turn_limit", "keep") == "keep"
            counted = "they are scored like any other" if kept else "they count as failed, too"
            told = f"{one.sessions:,} had all their turns: {_causes(one)}; {counted}"
        rows.append((one.name, f"{told} (newest: {one.newest})"))
    return rows


def _causes(one: ErrorClass) -> str:
    """Why they ended so, and how many for which reason; of many reasons those of most sessions."""
    if len(one.reasons) == 1:
        return one.reason
    told = "; ".join(f"{count:,} for: {reason}" for reason, count in one.reasons[:_MOST_CAUSES])
    left = sum(count for _, count in one.reasons[_MOST_CAUSES:])
    more = f"; {left:,} for other reasons" if left else ""
    return told + more


def defect_as_text(summary: Summary) -> str:
    """The first defect of the kind with its whole traceback; empty if there was none."""
    defect = summary.endings.defect
    if defect is None:
        return ""
    first = (
        f"KindDefect is a defect of the kind {summary.run.kind!r}, first in {defect.session_id}:"
    )
    return "\n".join([first, *(f"  {harmless(line)}" for line in defect.traceback.split("\n"))])


def _replaced(totals: RunTotals | None) -> list[tuple[str, str]]:
    """What of the machines was lost on the way."""
    processes, nodes = (0, 0) if totals is None else totals.lost
    if not processes and not nodes:
        return []
    died = plural(processes, "process", "processes")
    and_nodes = f" and {plural(nodes, 'node')}" if nodes else ""
    return [("lost", f"{died}{and_nodes} on the way; others went on with the work")]


def _stopping(stopping: Stopping | None, rounds: int) -> list[tuple[str, str]]:
    """What looking at the scores while the run went on came to, in a plan of so many rounds."""
    if stopping is None:
        return []
    if stopping.at_cap:
        verdict = stopping.decided.replace("_", " ")
        return [("look", f"at the cap, after round {stopping.looked} of {rounds}: {verdict}")]
    told = [
        f"{one.level} dropped from round {one.from_round + 1} on, beaten by {one.by}"
        for one in stopping.dropped
        if one.from_round < rounds
    ]
    if stopping.decided:
        told.append(f"decided after round {stopping.looked}")
    if stopping.unplayed:
        sessions = plural(stopping.unplayed, "session")
        told.append(f"{sessions} not needed, expected to cost {show_usd(stopping.saved_nano)}")
    return [("stopping", "; ".join(told) or f"not decided after {stopping.looked} rounds")]


def _from(branched: BranchedFrom) -> str:
    """What the sessions of a run go on from, and what was changed."""
    session, turn = branched.moments[0]
    if len(branched.moments) == 1:
        where = f"session {session} after turn {turn}"
    else:
        where = f"{len(branched.moments):,} moments"
        where += f" before {branched.where}" if branched.where else ""
    if branched.mode == "rejudge":
        where = f"{len(branched.moments):,} session{'s' * (len(branched.moments) != 1)}"
    values = [f"{name}={','.join(levels)}" for name, levels in branched.changes.items()]
    same = "" if branched.mode == "rejudge" else ", with nothing changed"
    changed = f", with {' '.join(values)}" if values else same
    return f"{branched.mode} of run {branched.run_id}, {where}{changed}"


def _estimates(run: RunFile) -> list[tuple[str, str]]:
    """What the run was expected to cost, beside what it did."""
    told = [
        f"{_around(cost)} {when}"
        for cost, when in ((run.estimate, "before"), (run.pilot, "after the first round"))
        if cost is not None
    ]
    return [("estimate", "; ".join(told))] if told else []


def _of_it(summary: Summary) -> str:
    """What of the money spent nobody reported, and what nobody had set aside."""
    parts = [
        f"{show_usd(amount)} {word}"
        for amount, word in ((summary.presumed_nano, "presumed"), (summary.overrun_nano, "overrun"))
        if amount
    ]
    return f", of it {' and '.join(parts)}," if parts else ""


def _doubts(summary: Summary) -> list[tuple[str, str]]:
    """What of the money is in no session, was beyond its hold, or was reported and not believed."""
    rows = []
    if summary.unanswered_nano:
        rows.append(
            (
                "presumed",
                f"{show_usd(summary.unanswered_nano)} for attempts whose answer never came, and "
                "which may be billed: in no session's cost, nor in `$ each`",
            )
        )
    if summary.overrun_nano:
        rows.append(
            (
                "overrun",
                f"{show_usd(summary.overrun_nano)} more than the most that was set aside: the "
                "prices are wrong, a provider did not keep to max_tokens, or an agent to max_usd",
            )
        )
    if summary.implausible:
        found = ", ".join(f"{model} {count:,}" for model, count in summary.implausible.items())
        rows.append(
            (
                "implausible",
                f"accounts by {found}: they cannot be true, or are no amounts, so these answers "
                "count at what was set aside for them",
            )
        )
    rows += [("no cost" * (not n), one.told) for n, one in enumerate(summary.agent_doubts)]
    if summary.equivalent_nano:
        told = ", ".join(f"{n} {show_usd(x)}" for n, x in summary.equivalent_nano.items())
        rows.append(
            ("equivalent", f"{told}: under a subscription, so no bill; counted all the same")
        )
    rows += [("alias moved", moved_alias(*moved)) for moved in summary.moved.items()]
    return rows


_NAMED = 3
_LONGEST_NAME = 60
"""Names of a provider's own that are told, and characters of each: the provider writes them."""


def moved_alias(model: str, names: Mapping[str, int]) -> str:
    """That a provider has changed what stands behind a model's name, in words."""
    most = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    told = " and ".join(
        f"{_cut(name)} ({plural(count, 'answer')})" for name, count in most[:_NAMED]
    )
    remedy = "ask for one of these names to be sure"
    if len(most) > _NAMED:
        told += f" and {len(most) - _NAMED} other names"
        remedy = "the names are in the column answered_by of calls"
    return (
        f"{model} was answered by {told}: sessions may differ because the provider changed what "
        f"stands behind the name; {remedy}"
    )


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _around(cost: CostRange) -> str:
    return f"{show_usd(cost.middle)} ({show_usd(cost.low)} to {show_usd(cost.high)})"


def _caches(summary: Summary) -> list[tuple[str, str]]:
    """What caches did, as far as they did anything."""
    rows = []
    if (kept := summary.cache).calls:
        calls = f"{kept.calls:,} of {plural(kept.of, 'call')}"
        saved = f"saved {show_usd(kept.saved)}"
        rows.append(("cache", f"{calls} answered by what was bought before, {saved}"))
    if (read := summary.prompt_cache).cached or read.saved:
        money = "at a price that is not known"
        if read.saved is not None:
            verb = "saved" if read.saved >= 0 else "cost more than none would have by"
            money = f"{verb} {show_usd(abs(read.saved))}"
        rows.append(("prompt cache", f"{100 * read.share:.0f} % of input tokens, {money}"))
    return rows


def _columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return columns(headers, rows, right=(1, *range(3, len(headers))))


def variant_table(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """The compared variants, or the whole run, with every denominator: headers and rows.

    How many ended without the metric is a column only where some did.
    """
    comparison, whole = summary.comparison, summary.whole
    if comparison is not None:
        confidence = 1 - comparison.verdict.rules.alpha
        headers = _headers(comparison.factor, comparison.metric, confidence)
        variants, metric, score = comparison.rows, comparison.metric, comparison.score_digits
    else:
        assert whole is not None
        headers = _headers("variant", whole.metric, whole.confidence)
        variants, metric, score = (whole.row,), whole.metric, whole.score_digits
    rows = [_variant_cells(row, score if metric == "score" else 3) for row in variants]
    if any(one.without for one in summary.unscored):
        for cells, text in zip(
            [headers, *rows],
            [f"no {metric}", *(f"{one.without:,}" for one in summary.unscored)],
            strict=True,
        ):
            cells.insert(_AFTER_ENDED, text)
    return headers, rows


def _headers(factor: str, metric: str, confidence: float) -> list[str]:
    return [
        factor,
        metric,
        f"{100 * confidence:.4g} % interval",
        "ended",
        "failed",
        "errored",
        "censored",
        "$ each",
    ]


def _variant_cells(row: VariantRow, digits: int) -> list[str]:
    return [
        row.level,
        *with_interval(row.mean, row.low, row.high, digits),
        f"{row.ended:,}/{row.sessions:,}",
        "-" if row.failed is None else f"{row.failed:,}",
        f"{row.errored:,}",
        f"{row.censored:,}",
        usd_each(row.cost_per_completed_usd),
    ]


def _next(summary: Summary) -> list[str]:
    run = summary.run
    where = results_flag(summary.run_dir)
    lines = []
    if run.status in ("incomplete", "failed"):
        lines.append(resume_command(summary.run_dir, run.resume_with))
    redoes = "--redo-errored" in run.resume_with
    if (errored := summary.endings.errored) and not redoes:
        again = resume_command(summary.run_dir, " --redo-errored")
        played = plural(errored, "errored session")
        lines.append(f"{again}   # plays {played} on, once the cause is mended")
    if summary.comparison is not None:
        lines.append(f"matrix compare {run.run_id}{where}   # all that the verdict rests on")
    if run.imported:
        lines.append(f"matrix report {run.run_id}{where}   # a page of it")
    elif summary.endings.errors or summary.endings.losses:
        most = (*summary.endings.errors, *summary.endings.losses)[0]
        lines.append(f"matrix show {run.run_id} {most.newest}{where}   # the newest {most.name}")
    if "worst" in summary.extremes and not run.imported:
        lines.append(f"matrix show {run.run_id} worst{where}   # the worst score")
    lines.append(
        f"python -c \"import pandas as pd; print(pd.read_parquet('{summary.run_dir}"
        "/sessions').describe())\""
    )
    return lines


def _command_facts(run: RunFile) -> list[tuple[str, str]]:
    """A line of the summary: exit code, requests, and how many of them the cap refused."""
    ended = run.command
    if ended is None:
        return []
    refused = f"{ended.capped:,} of them" if ended.capped else "none"
    told = f"{plural(ended.requests, 'request')}, {refused} refused at the cap"
    return [("command", f"exit code {ended.exit_code}; {told}")]
