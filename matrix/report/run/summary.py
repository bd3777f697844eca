"""What a run came to: outcomes with denominators, money, what caches saved, comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matrix.agents.answers import BAD_COST
from matrix.engine.calls.attempts import IMPLAUSIBLE
from matrix.engine.governor.money_fold import charged_in
from matrix.engine.prepare.judges import lower_is_better_of, measuring_roles
from matrix.engine.prepare.plan_file import read_tariffs
from matrix.engine.prepare.registry import load_kind, scoring_kind
from matrix.kinds.protocol import Kind
from matrix.model.errors import BadInput, KindUnusable
from matrix.model.spec.judges import JUDGES
from matrix.report.compare.compare import FactorComparison, WholeRun, compare_factor, whole_run
from matrix.report.compare.judges.judge_check import Standing
from matrix.report.compare.judges.labelled import labels_beside, standing_in
from matrix.report.compare.unscored import Unscored
from matrix.report.compare.voiding import standing_beside
from matrix.report.run.agent_doubts import AgentDoubt, agent_doubts
from matrix.report.run.endings import ENDING_COLUMNS, Endings, endings_of
from matrix.report.run.judging_notes import JudgingNotes, Unjudged, judging_notes, unjudged_in
from matrix.report.run.rejudged import Rejudged, rejudged_in
from matrix.report.run.replayed import Replayed, replayed_of
from matrix.report.run.savings import (
    CALL_COLUMNS,
    CacheUse,
    PromptCacheUse,
    cache_use,
    call_sums,
    charged_nano,
)
from matrix.report.text import plural
from matrix.store.journal.transcript import SessionNotFound
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile
from matrix.store.upkeep.recovery import tables_lag


class RubricUse(NamedTuple):
    """What judging by one rubric took: attempts, money in nano-dollars, and tokens."""

    calls: int
    spent_nano: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers.

    Attributes:
        endings: How its sessions ended, why those that errored did, and how many have a score.
        errors: Error class -> sessions that failed or errored with it.
        censored: Why sessions were cut short -> how many.
        cut_short: The same -> the newest reason in full, where there is more to say.
        implausible: Model -> answers with a usage report that cannot be true.
        agent_doubts: Agents of whose cost some turns say nothing.
        equivalent_nano: Agent under a subscription -> what its turns would have cost.
        unanswered_nano: What attempts without an answer are presumed to have cost; it is in the
            cost of no session.
        moved: Model -> the provider's own names of it -> answers, where there is more than one.
        role_nano: Role -> money spent on it, in nano-dollars, like all money here.
        rubrics: Rubric -> what judging by it took.
        unfinished: Whether the tables lack something, because the run was stopped at once.
        journal_nano: What the journal of an unfinished run says is spent, with what is out.
        comparison: The compared factor's levels and verdict.
        no_comparison: Why there is no comparison, if there is none.
        replayed: What a replay and its parent scored; ``None`` for any other run.
        whole: All sessions in one row, where there is one variant only and some have the metric.
        unscored: Of each variant (or the whole), ended sessions without the metric.
        cache: What the response cache did.
        prompt_cache: What the providers' own caches did.
        unjudged: Listed judge -> sessions that it was to score, how many it did, and why not.
        judging: What judges did that verdicts should not be read without.
        rejudged: What a rejudging was asked for.
        standing: Whether the judge was checked against people; ``None`` where none has part in it.
        score_is_low: Whether a lower score is the better one.
        extremes: ``best``, ``worst``, ``longest``, ``failed`` -> session id, as far as there are.
    """

    run: RunFile
    run_dir: Path
    endings: Endings
    errors: Mapping[str, int]
    censored: Mapping[str, int]
    cut_short: Mapping[str, str]
    implausible: Mapping[str, int]
    agent_doubts: tuple[AgentDoubt, ...]
    equivalent_nano: Mapping[str, int]
    moved: Mapping[str, Mapping[str, int]]
    role_nano: Mapping[str, int]
    rubrics: Mapping[str, RubricUse]
    settled_nano: int
    presumed_nano: int
    unanswered_nano: int
    calls: int
    tokens_in: int
    tokens_out: int
    turns: int
    cache: CacheUse
    prompt_cache: PromptCacheUse
    comparison: FactorComparison | None
    no_comparison: str
    replayed: Replayed | None
    whole: WholeRun | None
    unscored: tuple[Unscored, ...]
    unfinished: bool
    journal_nano: int | None
    unjudged: Mapping[str, Unjudged]
    judging: JudgingNotes
    rejudged: tuple[Rejudged, ...]
    standing: Standing | None
    score_is_low: bool
    extremes: Mapping[str, str]

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> sessions."""
        return self.endings.outcomes

    @property
    def spent_nano(self) -> int:
        """What providers have charged, as far as anybody can know: overruns included."""
        return self.settled_nano + self.presumed_nano + self.overrun_nano

    @property
    def overrun_nano(self) -> int:
        """What attempts cost above the most that was set aside."""
        return self.run.totals.overrun_nano if self.run.totals else 0


def summarize_run(run_dir: Path, run: RunFile) -> Summary:
    """Read a run's tables and sum them up; works while the run goes on, too."""
    tables = RunTables(run_dir)
    sessions = tables.frame("sessions", [*ENDING_COLUMNS, "turns"])
    sums = call_sums(tables.pieces("calls", CALL_COLUMNS), read_tariffs(run_dir))
    calls = sums.rows
    money = _money(calls)
    comparison, no_comparison = _comparison(tables, run)
    whole = _whole(tables, run)
    compared, low = comparison or whole, _score_is_low(run)
    lagging = run.status != "complete" and tables_lag(run_dir)
    return Summary(
        run=_with_later_labels(tables, run),
        run_dir=run_dir,
        endings=endings_of(tables, sessions),
        errors=_classes(sessions[sessions["outcome"] != "censored"]),
        censored=_classes(sessions[sessions["outcome"] == "censored"]),
        cut_short=_in_full(sessions[sessions["outcome"] == "censored"]),
        implausible=_implausible(calls),
        agent_doubts=agent_doubts(tables, run, calls),
        equivalent_nano=_equivalents(run, calls),
        moved=moved_models([tables]),
        role_nano=money["roles"],
        rubrics=_rubrics(run, calls),
        settled_nano=_imported_nano(run) if run.imported else money["settled"],
        presumed_nano=money["presumed"],
        unanswered_nano=money["unanswered"],
        calls=money["calls"],
        # of the calls, as the money is: sessions have no preludes and nothing that was cut off
        tokens_in=int(calls["tokens_in"].sum()),
        tokens_out=int(calls["tokens_out"].sum()),
        turns=tables.turns_played(),
        cache=cache_use(calls),
        prompt_cache=sums.prompt_cache,
        comparison=comparison,
        no_comparison=no_comparison,
        replayed=replayed_of(run_dir, run),
        whole=whole,
        unscored=() if compared is None else compared.unscored,
        unfinished=run.status in ("incomplete", "failed")
        and (len(sessions) < run.plan.sessions or lagging),
        journal_nano=None if run.status == "complete" else charged_in(run_dir),
        unjudged=unjudged_in(tables, run),
        judging=judging_notes(tables),
        rejudged=rejudged_in(tables, run),
        standing=standing_beside(
            standing_in(run.plan.metric, [tables]), comparison.void if comparison else None
        ),
        score_is_low=low,
        extremes=_extremes(sessions, low=low),
    )


def _with_later_labels(tables: RunTables, run: RunFile) -> RunFile:
    """The run's file, whose gates say what labels they do not know of."""
    gate = run.gate
    if gate is None or gate.at is None:
        return run
    own = [label for label in labels_beside([tables]) if label.run == run.run_id]
    later = {label.session for label in own if label.at > gate.at}
    if not later:
        return run
    told = (
        f"; decided before people labelled {plural(len(later), 'session')} of it, which may undo a "
        f"judge's word: `matrix compare {run.run_id}` with the same gates decides anew"
    )
    lines = tuple(line + told for line in gate.lines)
    return run.model_copy(update={"gate": gate.model_copy(update={"lines": lines})})


def _imported_nano(run: RunFile) -> int:
    """What imported results cost elsewhere, as their files say."""
    return run.totals.settled_nano if run.totals is not None else 0


def _money(calls: Any) -> dict[str, Any]:
    by_state = calls.groupby("disposition")["cost_nano"].sum()
    lost = calls[(calls["disposition"] == "presumed") & ~calls["answered"]]
    spent = calls[calls["disposition"] != "released"]
    charged = charged_nano(spent)
    roles = charged.groupby(spent["role"]).sum().sort_values(ascending=False)
    return {
        "roles": {str(role): int(cost) for role, cost in roles.items()},
        "settled": int(by_state.get("settled", 0)),
        "presumed": int(by_state.get("presumed", 0)),
        "unanswered": int(lost["cost_nano"].sum()),
        "calls": int(calls.loc[calls["answered"], "calls"].sum()),
    }


def _rubrics(run: RunFile, calls: Any) -> dict[str, RubricUse]:
    """By the tag of calls to roles that judge, the dearest first."""
    try:
        kind = load_kind(run.kind, kept=run.kind_facts)
        judging = measuring_roles(kind)
    except KindUnusable:
        judging = frozenset({JUDGES})
    mine = calls[calls["role"].isin(judging) & calls["tag"].notna()]
    mine = mine[mine["disposition"] != "released"]
    charged = charged_nano(mine)
    found = {
        str(tag): RubricUse(
            int(rows["calls"].sum()),
            int(charged[rows.index].sum()),
            int(rows["tokens_in"].sum()),
            int(rows["tokens_out"].sum()),
        )
        for tag, rows in mine.groupby("tag")
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].spent_nano))


def _classes(sessions: Any) -> dict[str, int]:
    found = sessions["error_class"].dropna().value_counts()
    return {str(name): int(count) for name, count in found.items() if name}


def _in_full(cut: Any) -> dict[str, str]:
    """Word that sessions are counted by -> the rest of the newest reason that begins with it."""
    reasons = zip(cut["error_class"], cut["end_reason"].fillna(""), strict=True)
    found = {word: reason.removeprefix(f"{word}: ") for word, reason in reasons
             if reason.startswith(f"{word}: ")}  # fmt: skip
    return {str(word): str(rest) for word, rest in found.items()}


def _implausible(calls: Any) -> dict[str, int]:
    odd = calls[calls["error_class"].isin([IMPLAUSIBLE, BAD_COST])]
    found = odd.groupby("model")["calls"].sum().sort_values(ascending=False)
    return {str(model): int(count) for model, count in found.items()}


def _equivalents(run: RunFile, calls: Any) -> dict[str, int]:
    agents = run.spec.get("agents") or {}
    subscribed = [name for name, agent in agents.items() if agent.get("billing") == "equivalent"]
    mine = calls[calls["model"].isin(subscribed)]
    spent = mine.groupby("model")["cost_nano"].sum()
    return {str(name): int(amount) for name, amount in spent.items()}


def moved_models(sources: Iterable[RunTables]) -> dict[str, dict[str, int]]:
    """Model -> the provider's own names of it -> answers, where runs were given several.

    An alias that moved: what stood behind the model's name has changed.
    """
    found: dict[str, Counter[str]] = {}
    for tables in sources:
        for model, names in tables.answered_by().items():
            found.setdefault(model, Counter()).update(names)
    return {model: dict(names) for model, names in sorted(found.items()) if len(names) > 1}


def _comparison(tables: RunTables, run: RunFile) -> tuple[FactorComparison | None, str]:
    """The comparison, or why there is none: a young run may not have its metric yet."""
    replayed = run.branched is not None and run.branched.mode != "rejudge"
    if replayed and run.plan.compared is None:
        return None, "A replay of one variant, so there is nothing to compare."
    if run.plan.compared is None:
        return None, "No factor with several levels, so there is nothing to compare."
    try:
        return compare_factor(tables, run), ""
    except BadInput as error:
        reasons = "; ".join(mistake.message for mistake in error.mistakes)
        return None, f"No verdict on {run.plan.compared} by {run.plan.metric}: {reasons}"


def _whole(tables: RunTables, run: RunFile) -> WholeRun | None:
    """All sessions in one row, where nothing is compared; a young run may not have its metric."""
    if run.plan.compared is not None:
        return None
    try:
        return whole_run(tables, run)
    except BadInput:
        return None


def _score_is_low(run: RunFile) -> bool:
    """Whether a lower score is the better one, by what the kind and the spec of a run say."""
    spec = run.run_spec
    kind: Kind | None = None
    with suppress(KindUnusable, BadInput):
        kind = scoring_kind(run.kind, spec.options, kept=run.kind_facts)
    return "score" in lower_is_better_of(spec, kind)


def _extremes(sessions: Any, *, low: bool) -> dict[str, str]:
    scored = sessions.dropna(subset=["score"])
    found: dict[str, str] = {}
    if len(scored):
        most, least = ("worst", "best") if low else ("best", "worst")
        found[most] = str(scored.loc[scored["score"].idxmax(), "session_id"])
        found[least] = str(scored.loc[scored["score"].idxmin(), "session_id"])
    timed = sessions.dropna(subset=["turns"])  # a stranger's table may have none
    if len(timed):
        found["longest"] = str(timed.loc[timed["turns"].idxmax(), "session_id"])
    broken = sessions[sessions["outcome"].isin(["failed", "errored"])]
    if len(broken):
        found["failed"] = str(broken.iloc[0]["session_id"])
    return found


def extreme_session(run_dir: Path, which: str) -> str:
    """The session that scored best or worst, took longest, or failed first.

    Raises:
        SessionNotFound: No session is of this sort.
    """
    tables = RunTables(run_dir)
    frame = tables.frame("sessions", ["session_id", "outcome", "turns", "score"])
    found = _extremes(frame, low=_score_is_low(tables.run))
    if which not in found:
        raise SessionNotFound(f"no session to show as {which!r}: none has ended that way")
    return found[which]
