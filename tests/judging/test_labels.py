"""Judges against people: drawing, labelling, agreement, and what a verdict says of its judge."""

from __future__ import annotations

import csv
import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matrix.api.sessions.labelling import labelling, value_of
from matrix.engine.prepare.spec_files import SPEC_NAME
from matrix.kinds.protocol import LabelQuestion
from matrix.report.compare.judges.judge_check import ENOUGH, check_judge, standing_of
from matrix.report.compare.judges.judge_check_text import check_as_text
from matrix.store.shared.labels import JudgeId, Label, LabelledTranscript
from tests.executors.programs import Project, counter_spec

JUDGES = """
import hashlib, json

def _drawn(turn):
    return hashlib.sha256(turn.session.encode()).digest()[0]

async def line(turn):
    return f"VERDICT: {'PASS' if _drawn(turn) % 2 else 'FAIL'} - it is so"

async def other(turn):
    return f"VERDICT: {'PASS' if _drawn(turn) % 3 else 'FAIL'} - it is so"

async def points(turn):
    return json.dumps({"clear": 1 + _drawn(turn) % 5, "reason": "so"})
"""
RUBRICS = {
    "ends.md": "---\nanswer: verdict\n---\nDoes it count?\n",
    "tone.md": "---\ncriteria: {clear: Is it clear}\n---\nYou read.\n",
}
JUDGE = JudgeId("m", "h")
KEY = "sk-canary-0123456789abcdef"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "judges_of_mine.py").write_text(JUDGES)
    for name, text in RUBRICS.items():
        (tmp_path / name).write_text(text)
    names = ("line", "other", "points")
    found = Project(tmp_path)
    found.write(
        counter_spec(
            options={"turns": 2},
            per_cell=30,
            agents={one: {"python": f"judges_of_mine:{one}", "free": True} for one in names},
            judges=[
                {"rubric": "ends.md", "model": "line"},
                {"rubric": "tone.md", "model": "points"},
            ],
        )
    )
    done = found.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done
    return found


def given_by_judge(project: Project, run: str, metric: str) -> dict[str, float]:
    frame = project.tables(run).frame("scores")
    frame = frame[(frame.name == metric) & frame.turn.isna()]
    return dict(zip(frame.session_id, frame.value, strict=True))


def filled(project: Project, metric: str, wrong: int, sessions: int = 40) -> Any:
    """Label in a table: as the judge says, but for the first ``wrong`` sessions."""
    draw = ("--metric", metric, "--sessions", str(sessions))
    done = project.matrix("label", "it", *draw, "--write", "labels.csv", "--force")
    assert done.code == 0, done
    path, judge = project.folder / "labels.csv", given_by_judge(project, "it", metric)
    rows = list(csv.DictReader(path.open(encoding="utf-8-sig")))
    for number, row in enumerate(rows):
        value = judge[row["session"]]
        row["label"] = f"{value if number >= wrong else 1 - value:g}"
    with path.open("w", newline="") as handle:
        table = csv.DictWriter(handle, rows[0])
        table.writeheader()
        table.writerows(rows)
    done = project.matrix("label", "it", *draw, "--read", "labels.csv", "--rater", "ana")
    assert done.code == 0, done
    return done


def label_all(project: Project, metric: str, people: dict[str, float]) -> None:
    """What people say of every session."""
    work = labelling(
        project.folder / "results" / "it", metric=metric, sessions=len(people), rater="ana"
    )
    work.take((one, value, "") for one, value in people.items())
    work.close()


def compared(project: Project, run: str, metric: str) -> Any:
    done = project.matrix("compare", run, "--metric", metric, "--json")
    assert done.code == 0, done
    return json.loads(done.out)


@pytest.mark.slow
def test_a_verdict_says_whether_its_judge_was_checked_against_people(project: Project) -> None:
    assert compared(project, "it", "ends")["judge_check"]["word"] == "unchecked"
    assert "has not been checked" in project.matrix("compare", "it", "--metric", "ends").out
    told = filled(project, "ends", wrong=4).out
    assert "40 transcripts by 1 person" in told
    found = compared(project, "it", "ends")["judge_check"]
    assert (found["word"], found["n"]) == ("checked", 40)
    assert 0.7 < found["kappa"] < 0.85  # 90 % of about as many of each verdict
    assert compared(project, "it", "tone")["judge_check"]["word"] == "unchecked"
    assert compared(project, "it", "turns")["judge_check"] is None  # no judge has part in it


@pytest.mark.slow
def test_a_judge_that_agrees_too_little_is_warned_of(project: Project) -> None:
    filled(project, "ends", wrong=20)
    found = compared(project, "it", "ends")["judge_check"]
    assert found["word"] == "void"  # these labels turn every verdict round, and so who passes more
    assert "too little to be leant on" in found["sentence"]
    assert "which voids the verdict" in found["sentence"]


@pytest.mark.long
@pytest.mark.slow
def test_the_same_transcripts_judged_again_are_checked_by_the_same_labels(
    project: Project,
) -> None:
    filled(project, "ends", wrong=0)
    again = ("rejudge", "it", "--judge", "other", "--rubric", "ends.md", "--run-id", "again")
    assert project.matrix(*again, "--executor", "in-process", "--quiet").code == 0
    before = compared(project, "again", "ends")["judge_check"]
    assert before["word"] in ("low", "checked")  # by the labels of the same transcripts
    done = project.matrix("label", "again", "--check", "--json")
    assert done.code == 0, done
    (check,) = json.loads(done.out)["checks"]
    assert check["judges"][0]["model"] == "other"
    assert check["n"] == 40
    old, new = (given_by_judge(project, name, "ends") for name in ("it", "again"))
    frame = project.tables("again").frame("sessions", ["session_id", "parent_session_id"])
    parents = dict(zip(frame.session_id, frame.parent_session_id, strict=True))
    pairs = [(old[parents[one]], value) for one, value in new.items()]
    both = sum(a == b for a, b in pairs) / len(pairs)
    assert abs(np.trace(check["confusion"]["counts"]) / 40 - both) < 0.2
    assert check["kappa"] == before["kappa"]
    assert compared(project, "again", "ends")["judge_check"] == before
    assert compared(project, "it", "ends")["judge_check"]["kappa"] == 1.0  # as it was


@pytest.mark.long
@pytest.mark.slow
def test_a_judge_whose_program_was_edited_stands_as_it_judged_in_each_run(
    project: Project,
) -> None:
    """It goes by the same name and rubric, and is another one."""
    filled(project, "ends", wrong=0)
    assert compared(project, "it", "ends")["judge_check"]["kappa"] == 1.0
    program = project.folder / "judges_of_mine.py"
    program.write_text(
        program.read_text().replace("'PASS' if _drawn(turn) % 2", "'FAIL'if _drawn(turn) % 2")
    )
    program.write_text(program.read_text().replace("else 'FAIL'}", "else 'PASS'}", 1))
    again = ("rejudge", "it", "--judge", "line", "--rubric", "ends.md", "--run-id", "again")
    assert project.matrix(*again, "--executor", "in-process", "--quiet").code == 0
    for _ in range(2):
        old, new = (compared(project, run, "ends")["judge_check"] for run in ("it", "again"))
        assert (old["word"], old["kappa"]) == ("checked", 1.0)
        assert new["kappa"] < old["kappa"]
        done = project.matrix("label", "again", "--check", "--json")
        assert json.loads(done.out)["checks"][0]["kappa"] == new["kappa"]


@pytest.mark.long
@pytest.mark.slow
def test_an_agent_of_another_run_is_told_as_that_and_one_declared_otherwise_is_another(
    project: Project,
) -> None:
    filled(project, "ends", wrong=0)
    run = ("run", "--executor", "in-process", "--quiet")
    assert project.matrix(*run, "--run-id", "alike").code == 0
    spec = project.folder / SPEC_NAME
    spec.write_text(spec.read_text().replace("judges_of_mine:line", "judges_of_mine:other"))
    assert project.matrix(*run, "--run-id", "renamed").code == 0
    alike = compared(project, "alike", "ends")["judge_check"]
    assert alike["word"] == "checked"
    assert "The labels of line are of it: a program that was edited since" in alike["sentence"]
    assert "are of it" not in compared(project, "it", "ends")["judge_check"]["sentence"]
    assert compared(project, "renamed", "ends")["judge_check"]["word"] == "unchecked"


@pytest.mark.slow
def test_sessions_are_drawn_alike_from_every_variant_and_tell_nothing_of_it(
    project: Project,
) -> None:
    draw = ("--metric", "tone", "--sessions", "20")
    assert project.matrix("label", "it", *draw, "--write", "a.csv").code == 0
    done = project.matrix("label", "it", *draw, "--write", "a.csv")
    assert done.code == 2
    assert "a.csv" in done.err
    rows = list(csv.DictReader((project.folder / "a.csv").open(encoding="utf-8-sig")))
    frame = project.tables("it").frame("sessions", ["session_id", "step"])
    step = dict(zip(frame.session_id, frame.step, strict=True))
    assert sorted(step[row["session"]] for row in rows) == ["1"] * 10 + ["2"] * 10
    assert set(rows[0]) == {
        "run", "session", "metric", "answer", "label", "note", "question", "transcript",
    }  # fmt: skip
    assert "Is it clear" in rows[0]["question"]
    order = [step[row["session"]] for row in rows]
    pairs = zip(order[::2], order[1::2], strict=True)
    assert any(a == b for a, b in pairs)  # else one that is known would tell another


@pytest.mark.slow
def test_the_command_that_is_printed_reads_back_what_was_written(project: Project) -> None:
    done = project.matrix(
        "label", "it", "--metric", "ends", "--sessions", "60", "--rater", "ana b",
        "--write", "my labels.csv",
    )  # fmt: skip
    command = shlex.split(done.out.splitlines()[-1])
    rows = list(csv.DictReader((project.folder / "my labels.csv").open(encoding="utf-8-sig")))
    with (project.folder / "my labels.csv").open("w", newline="") as handle:
        table = csv.DictWriter(handle, rows[0])
        table.writeheader()
        table.writerows({**row, "label": "PASS"} for row in rows)
    assert command[0] == "matrix"
    done = project.matrix(*command[1:])
    assert done.code == 0, done
    assert "60 labels of ends by ana b taken" in done.err


@pytest.mark.slow
def test_every_mistake_in_a_table_is_told_and_nothing_taken(project: Project) -> None:
    work = labelling(project.folder / "results" / "it", metric="ends", rater="ana")
    one, two = work.drawn[:2]
    work.close()
    text = f"session,label\n{one},maybe\nnone,PASS\n{two},p\n{two},f\n"
    (project.folder / "bad.csv").write_text(text)
    done = project.matrix("label", "it", "--metric", "ends", "--read", "bad.csv")
    assert done.code == 2
    for told in ("bad.csv:2", "'maybe'; PASS or FAIL", "bad.csv:3", "'none'", "a second time"):
        assert told in done.err, done.err
    assert not (project.folder / "results" / "labels.jsonl").exists()
    theirs = f"run,session,label\nother,{one},PASS\n"  # where it may have said something else
    (project.folder / "theirs.csv").write_text(theirs)
    done = project.matrix("label", "it", "--metric", "ends", "--read", "theirs.csv")
    assert done.code == 2
    assert "theirs.csv:2: is of the run 'other'; `matrix label other --read` takes it" in done.err
    assert not (project.folder / "results" / "labels.jsonl").exists()
    for name, content in (("no.csv", "a,b\n1,2\n"), ("bin.csv", "\xff\x00")):
        (project.folder / name).write_bytes(content.encode("latin-1"))
        assert project.matrix("label", "it", "--metric", "ends", "--read", name).code == 2
    assert project.matrix("label", "it", "--metric", "nope", "--check").code == 2


@pytest.mark.slow
def test_mistakes_in_a_long_table_are_told_bounded_and_commands_can_be_copied(
    project: Project,
) -> None:
    rows = [f"it; touch x,s{number},PASS" for number in range(2000)]
    (project.folder / "long.csv").write_text("\n".join(["run,session,label", *rows]))
    done = project.matrix("label", "it", "--metric", "ends", "--read", "long.csv")
    assert done.code == 2
    assert "`matrix label 'it; touch x' --read` takes it" in done.err
    assert "long.csv: and 1,980 more mistakes" in done.err.splitlines()
    assert done.err.count("\n") == 21


@pytest.mark.slow
def test_no_key_is_kept_of_what_is_noted_beside_a_label(project: Project) -> None:
    keyed = Project(project.folder, environment={"SOME_API_KEY": KEY})
    (project.folder / ".env").write_text(f"OTHER_API_KEY={KEY[::-1]}\n")
    work = labelling(project.folder / "results" / "it", metric="ends", rater="ana")
    session = work.drawn[0]
    work.close()
    note = f"{KEY} {KEY[::-1]} {'x' * 9_900} {KEY} {KEY}"
    (project.folder / "l.csv").write_text(f"session,label,note\n{session},PASS,{note}\n")
    read = ("label", "it", "--metric", "ends", "--read", "l.csv", "--rater", f"ana {KEY}")
    done = keyed.matrix(*read)
    assert done.code == 0, done
    kept = (project.folder / "results" / "labels.jsonl").read_text()
    assert "[redacted] [redacted] x" in kept
    assert KEY[:9] not in kept
    assert KEY[::-1][:9] not in kept


@pytest.mark.slow
def test_people_correct_a_judge_that_favours_a_variant(project: Project) -> None:
    """The judge gives step 2 a point more than people do: the raw means differ, the true do not."""
    judge = given_by_judge(project, "it", "tone")
    frame = project.tables("it").frame("sessions", ["session_id", "step"])
    step = dict(zip(frame.session_id, frame.step, strict=True))
    with_labels = labelling(
        project.folder / "results" / "it", metric="tone", sessions=60, rater="ana"
    )
    people = {one: judge[one] if step[one] == "1" else judge[one] - 1 for one in with_labels.drawn}
    with_labels.take((one, value, "") for one, value in people.items())
    with_labels.close()
    found = compared(project, "it", "tone")["by_people"]
    for row in found["rows"]:
        mine = [value for one, value in people.items() if step[one] == row["level"]]
        assert row["mean"] == pytest.approx(np.mean(mine))
        assert row["judge"] - row["people"] == pytest.approx(float(row["level"] == "2"))
    told = project.matrix("compare", "it", "--metric", "tone").out
    assert "people, by judge" in told


def test_few_labels_are_believed_alone_and_the_judge_never_turns_people_round() -> None:
    """A weight estimated from four labels can be anything: here it would be -7."""
    from matrix.report.compare.judges.labelled import _powered

    people, judge = np.array([3.0, 2.0, 4.0, 4.0]), np.array([3.2, 3.3, 3.1, 3.0])
    elsewhere = np.full(30, 4.5)
    found = _powered(people, judge, elsewhere)
    assert (found.judge_weight, found.mean) == (0.0, found.people_only)
    many = _powered(np.tile(people, 4), np.tile(judge, 4), elsewhere)
    assert many.judge_weight == 0.0  # the better the judge finds it, the worse people do
    assert many.mean == many.people_only
    scaled = _powered(np.tile([1.0, 9.0], 8), np.tile([4.0, 5.0], 8), elsewhere)
    assert scaled.judge_weight == 1.0


# --- values ---------------------------------------------------------------------------------------


def said(human: float, judge: float | None, number: int, rater: str = "a", run: str = "r") -> Label:
    return Label(
        run=run,
        session=f"s{number}",
        metric="m",
        rater=rater,
        value=human,
        judge_value=judge,
        judge_model=JUDGE.model,
        rubric_hash=JUDGE.rubric,
        at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def test_a_check_counts_what_people_and_judge_say() -> None:
    table = [[10, 2, 0], [3, 12, 4], [1, 2, 16]]
    cells = [(a, b) for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    labels = [said(a, b, number) for number, (a, b) in enumerate(cells)]
    found = check_judge("m", [*labels, said(1, None, 99)])
    assert found.kappa == pytest.approx(0.763108, abs=6e-7)  # the reference table's, quadratic
    assert found.confusion is not None
    assert found.confusion.counts == tuple(map(tuple, table))
    assert (found.n, found.unread, found.raters) == (50, 1, 1)
    assert found.interval is not None
    assert found.interval.contains(0.763108)


def test_labels_of_people_who_do_not_agree_vouch_for_no_judge() -> None:
    """The judge agrees with their mean, which nobody else does."""
    marks = [(number, 1 + number % 5) for number in range(40)]
    alike = [said(mark, mark, n, rater) for n, mark in marks for rater in "ab"]
    apart = [
        said(mark + (2 if rater == "a" else -2) * (-1) ** n, mark, n, rater)
        for n, mark in marks
        for rater in "ab"
    ]
    assert not check_judge("m", alike).low
    found = check_judge("m", apart)
    assert found.kappa == 1
    assert found.people_differ
    assert found.low
    standing = standing_of("m", [JUDGE], apart)
    assert standing is not None
    assert standing.word == "low"
    assert "by people who agree with each other too little" in standing.sentence
    told = " ".join(check_as_text(found).split())
    assert "with the mean of what people say" in told
    assert "People agree with each other below 0.6" in told
    assert "Good enough" not in told


def test_a_judge_is_good_enough_without_a_but_only_where_chance_does_not_make_it_so() -> None:
    def told(sessions: int, wrong_every: int) -> str:
        labels = [
            said(float(n % 2), float((n % 2) ^ (n % wrong_every == 0)), n) for n in range(sessions)
        ]
        return " ".join(check_as_text(check_judge("m", labels)).split())

    few, many = told(24, 8), told(480, 8)  # kappa is .75 in both
    assert "Good enough by these 24" in few
    assert "label more to be sure" in few
    assert "Good enough to lean on" in many


def test_a_judge_that_errs_differently_for_one_variant_is_told() -> None:
    rng = np.random.default_rng(3)
    people = rng.normal(3, 1, 80)
    noise = rng.normal(0, 0.3, 80)
    variants = {LabelledTranscript("r", f"s{n}"): "ab"[n % 2] for n in range(80)}
    fair = [said(p, p + e, n) for n, (p, e) in enumerate(zip(people, noise, strict=True))]
    assert check_judge("m", fair, variants).differs == ()
    unfair = [
        said(p, p + e + (n % 2), n) for n, (p, e) in enumerate(zip(people, noise, strict=True))
    ]
    (found,) = check_judge("m", unfair, variants).differs
    assert (found.first, found.second) == ("a", "b")
    assert found.interval is not None
    assert found.interval.contains(-1.0)


@pytest.mark.slow
def test_a_check_tells_of_a_judge_whose_error_for_each_variant_never_varies(
    project: Project,
) -> None:
    """Points: a point too much for step 2, always. Verdicts: it agrees, but on step 2 never."""
    frame = project.tables("it").frame("sessions", ["session_id", "step"])
    step = dict(zip(frame.session_id, frame.step, strict=True))
    for metric in ("tone", "ends"):
        judge = given_by_judge(project, "it", metric)
        label_all(
            project,
            metric,
            {
                one: value if step[one] == "1" else value - 1 if metric == "tone" else 1 - value
                for one, value in judge.items()
            },
        )
        done = project.matrix("label", "it", "--metric", metric, "--check")
        assert "The judge errs differently for 1 and 2" in done.out, done.out
        assert "not shown" not in done.out
        assert "Good enough" not in done.out
        done = project.matrix("label", "it", "--metric", metric, "--check", "--json")
        (check,) = json.loads(done.out)["checks"]
        (found,) = check["differs"]
        assert (found["first"], found["second"]) == ("1", "2")


def test_a_judge_is_checked_for_its_model_and_rubric_alone() -> None:
    labels = [said(n % 2, n % 2, n) for n in range(ENOUGH)]
    assert standing_of("m", [], labels) is None
    words = {
        "checked": standing_of("m", [JUDGE], labels),
        "few": standing_of("m", [JUDGE], labels[1:]),
        "unchecked": standing_of("m", [JudgeId("m", "other words")], labels),
    }
    assert {word: found and found.word for word, found in words.items()} == {w: w for w in words}
    partly = standing_of("m", [JUDGE, JudgeId("m", "other words")], labels)
    assert partly is not None
    assert partly.word == "unchecked"
    same = standing_of("m", [JUDGE], [said(1, 1, n) for n in range(40)])
    assert same is not None
    assert "all 40 labels are the same" in same.sentence


def test_a_transcript_counts_once_however_many_runs_have_judged_it_again() -> None:
    """Ten labels are ten, for each judge that gave a value beside them."""
    labels = [said(n % 2, n % 2, n) for n in range(10)]
    derived = {"run": "again", "of_run": "r"}
    again = [one.model_copy(update={**derived, "of": one.session}) for one in labels]
    assert check_judge("m", [*labels, *again]).n == 10
    other = JudgeId("another", JUDGE.rubric)
    by_other = [one.model_copy(update={"judge_model": other.model}) for one in again]
    found = standing_of("m", [JUDGE, other], [*labels, *by_other])
    assert found is not None
    assert (found.word, found.n) == ("few", 10)
    assert found.sentence.count("only 10 of the 20") == 2
    # and a session of another run of the same spec is another transcript
    elsewhere = [one.model_copy(update={"run": "r2"}) for one in labels]
    assert check_judge("m", [*labels, *elsewhere]).n == 20


@pytest.mark.slow
def test_what_is_labelled_later_hides_no_judge_that_disagrees() -> None:
    bad = [said(n % 2, (n // 2) % 2, n) for n in range(40)]
    good = [said(n % 2, n % 2, n).model_copy(update={"metric": "other"}) for n in range(40)]
    for later in ([], good[:5], good):
        found = standing_of("score", [JUDGE], [*bad, *later])
        assert found is not None
        assert found.word == "low"
        assert "too little on m to" in found.sentence
        assert found.kappa == pytest.approx(0.0)
    second = JudgeId("m", "another rubric")
    tone = [one.model_copy(update={"rubric_hash": second.rubric}) for one in good]
    for order in ([JUDGE, second], [second, JUDGE]):
        found = standing_of("score", order, [*bad, *tone])
        assert found is not None
        assert (found.word, found.n) == ("low", 40)
        assert "agrees with people on other" in found.sentence


@pytest.mark.parametrize(("people", "judge"), [([1], [0]), ([0, 1, 1], [1, 1, 1])])
def test_a_judge_that_always_says_the_same_has_no_interval(
    people: list[float], judge: list[float]
) -> None:
    pairs = enumerate(zip(people, judge, strict=True))
    found = check_judge("m", [said(p, j, n) for n, (p, j) in pairs])
    assert (found.kappa, found.interval) == (0.0, None)


@pytest.mark.parametrize("text", ["", "6", "0.9", "nan", "inf", "good", "1e9"])
def test_values_off_the_scale_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="from 1"):
        value_of(text, LabelQuestion("?", 1, 5))


def test_values_are_read_as_people_write_them() -> None:
    scale, verdict = LabelQuestion("?", 1, 5), LabelQuestion("?", 0, 1, True)
    assert [value_of(text, scale) for text in ("3", " 2,5 ", "5.0")] == [3.0, 2.5, 5.0]
    assert [value_of(text, verdict) for text in ("PASS", "f", "yes", "0")] == [1.0, 0.0, 1.0, 0.0]
