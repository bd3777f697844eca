"""The main job as a person sees it: how soon it plays, how long it takes, how much memory."""

from __future__ import annotations

import json
from datetime import datetime

from benchmarks.figures import Section, mebibytes
from benchmarks.runs import Job, Played, play
from benchmarks.sizes import Sizes
from matrix.model.entries import Opened, Settled
from matrix.store.journal.codec import OPENED, SETTLED
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.run.made_here import PLAN_NAME
from matrix.telemetry.log import LOG_NAME


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: the main job, then memory over the number of finished sessions."""
    _main_job(sizes, section)
    _growth(sizes, section)
    section.note(
        "memory: all processes together (driver, actors, raylet, gcs), read every 0.25 s; "
        "PSS counts shared pages once, RSS in every process."
    )
    section.note(
        "the peak comes at the end, when tables are compacted in blocks of bounded size; growth "
        "while playing is what open-ended runs would feel."
    )


def _main_job(sizes: Sizes, section: Section) -> None:
    job = play(sizes.folder, "main-job", Job(sizes.main_job, memory=True, as_paid=False))
    planned = (job.run_dir / PLAN_NAME).stat().st_mtime - job.watched.started_at
    section.add("command to first session playing", first_playing_s(job), "s", job.command, "< 20")
    section.add("of that: command to plan on disk", planned, "s", "same run, before Ray starts")
    section.add("command to exit", job.watched.wall_s, "s", "same run", "< 180")
    section.add("calls", job.calls, "calls", "same run")
    section.add("calls, steady", job.steady_rate, "calls/s", "same run, while memory is read")
    section.add("peak memory, PSS", mebibytes(job.watched.peak_pss), "MiB", "same run", "< 2,384")
    section.add("peak memory, RSS", mebibytes(job.watched.peak_rss), "MiB", "same run")
    for role, use in job.watched.by_role().items():
        section.add(f"peak memory of {role}, PSS", mebibytes(use.pss), "MiB", "same run")
    section.add("processor time of reading memory", job.watched.sampling_s, "s", "same run")


def _growth(sizes: Sizes, section: Section) -> None:
    few, many = (
        play(
            sizes.folder,
            f"growth-{sessions}",
            Job(
                sessions,
                open_sessions=sizes.growth_open,
                max_turns=sizes.growth_turns,
                memory=True,
            ),
        )
        for sessions in (sizes.few, sizes.many)
    )
    for run, sessions in ((few, sizes.few), (many, sizes.many)):
        peak = mebibytes(run.watched.peak_pss)
        section.add(f"peak memory, {sessions} short sessions, PSS", peak, "MiB", run.command)
    more = sizes.many - sizes.few
    grown = (many.watched.peak_pss - few.watched.peak_pss) / 1024 / more
    section.add("growth of the peak per session", grown, "KiB", "difference of those two")
    ended = many.ended_at
    half = len(ended) // 2
    before, after = many.watched.pss_at(ended[half - 1]), many.watched.pss_at(ended[-1])
    how = "the larger run, while the second half of its sessions ended"
    more = len(ended) - half
    whole = (sum(after.values()) - sum(before.values())) / 1024 / more
    section.add("growth while playing, per ended session", whole, "KiB", how, "~ 0")
    for role, size in after.items():
        section.add(f"the same, {role}", (size - before[role]) / 1024 / more, "KiB", how)


def first_playing_s(job: Played) -> float:
    """Seconds from the command to the first answered call of a session proper."""
    reader = JournalReader(job.run_dir / JOURNAL_NAME)
    preludes: set[str] = set()
    try:
        for row in reader.rows(0, reader.last_seq(), kinds=(OPENED, SETTLED)):
            match row.entry:
                case Opened() as opened if opened.plan.part == "prelude":
                    preludes.add(opened.plan.session_id)
                case Settled() as call if call.key.session_id not in preludes:
                    return call.at - job.watched.started_at
    finally:
        reader.close()
    raise ValueError(f"no call in {job.run_dir}")


def stages(job: Played) -> dict[str, float]:
    """What happened by which second after the command, on a Ray of the run's own, in order."""
    began: dict[str, list[float]] = {}
    up: dict[str, list[float]] = {}
    for line in (job.run_dir / LOG_NAME).read_text().splitlines():
        told = json.loads(line)
        if told["event"] == "process.started":
            role = told["process"].partition("-")[0]
            at = datetime.fromisoformat(told["time"]).timestamp() - job.watched.started_at
            up.setdefault(role, []).append(at)
            began.setdefault(role, []).append(at - told["age_s"])
    return {
        "plan on disk": (job.run_dir / PLAN_NAME).stat().st_mtime - job.watched.started_at,
        "driver ready to start Ray": min(up["driver"]),
        "Ray up: governor's process begins": min(began["governor"]),
        "governor has loaded, works": min(up["governor"]),
        "last worker has loaded, works": max(up["worker"]),
        "first answer of a session": first_playing_s(job),
    }
