"""What a judge adds to the patterns, counted by transcript: of judges whose answers are known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.detectors import (
    FOLDER,
    Label,
    Transcript,
    Turn,
    as_case,
    as_judged,
    read_set,
    tallied,
)
from benchmarks.judged_transcripts import Case, Judging, judge, listed, recorded, table

GUIDE = "# The Mill\n\nA mill in the rain.\n\n## People\n- Anna: the miller.\n"


def transcript(name: str, third: str, *labels: Label) -> Transcript:
    said = ("Rain. The mill stands before you.", "You knock. Nobody comes.", third)
    turns = tuple(Turn(narrator=one, players={"Ned": "I wait."}, relay="We wait.") for one in said)
    return Transcript(id=name, guide=GUIDE, group=("Ned", "Asha"), turns=turns, labels=labels)


def cases() -> list[Case]:
    """One that only who reads finds, one that patterns find, one that they are wrong about."""
    label = Label(type="contradiction", turn=3)
    planted = "The mill is gone, and the field has always stood open."
    assistant = "As an AI language model I cannot continue this story."
    broken = Label(type="character_break", turn=3)
    return [
        as_case(transcript("read", planted, label)),
        as_case(transcript("matched", assistant, broken)),
        as_case(transcript("clean", "A cat comes out and looks at you.")),
        as_case(transcript("calm", "Captain Harrow bursts in and takes the key from its hook.")),
    ]


def judged(name: str) -> Judging:
    agent = {"python": f"tests.kinds.playtest.scripted_judges:{name}", "free": True}
    return judge(cases(), "scripted", 0.5, {"agents": {"scripted": agent}})


def counts(judging: Judging) -> list[str]:
    """The lines of the table, without spaces in rows and without intervals."""
    lines = [re.sub(r" \d\.\d\d \[[^\]]*\]", "", one) for one in table(cases(), judging)]
    return [re.sub(r" {2,}", " | ", one.strip()) for one in lines if one]


def test_a_judge_that_is_right_finds_what_patterns_miss_and_they_what_it_misses() -> None:
    told = counts(judged("right"))
    assert told[0] == "judged by scripted: spent $0.0000 of at most $0.5; the run is complete"
    assert told[2:23] == [
        "contradiction | labelled, found | others, reported | right of what was reported",
        "patterns alone | 0 of 1 | 0 of 3 | 0 of 0",
        "judge alone | 1 of 1 | 0 of 3 | 1 of 1",
        "either | 1 of 1 | 0 of 3 | 1 of 1",
        "with the judge | 1 of 1 | 0 of 3 | 1 of 1",
        "1 of the judge's 1 name a message within a turn of the label",
        "without a verdict: 0 UNCERTAIN, 0 none",
        "character_break | labelled, found | others, reported | right of what was reported",
        "patterns alone | 1 of 1 | 0 of 3 | 1 of 1",
        "judge alone | 0 of 1 | 0 of 3 | 0 of 0",
        "either | 1 of 1 | 0 of 3 | 1 of 1",
        "with the judge | 1 of 1 | 0 of 3 | 1 of 1",
        "0 of the judge's 0 name a message within a turn of the label",
        "without a verdict: 0 UNCERTAIN, 0 none",
        "guide_deviation | labelled, found | others, reported | right of what was reported",
        "patterns alone | 0 of 0 | 1 of 4 | 0 of 1",
        "judge alone | 0 of 0 | 0 of 4 | 0 of 0",
        "either | 0 of 0 | 1 of 4 | 0 of 1",
        "with the judge | 0 of 0 | 0 of 4 | 0 of 0",
        "0 of the judge's 0 name a message within a turn of the label",
        "without a verdict: 0 UNCERTAIN, 0 none",
    ]
    assert told[23::7] == [
        f"{kind} | labelled, found | others, reported | right of what was reported"
        for kind in ("stuck", "early_end")
    ]


def test_a_judge_that_is_wrong_adds_false_alarms_and_is_listed_with_its_reasons() -> None:
    judging = judged("wrong")
    told = counts(judging)
    assert told[3:8] == [
        "patterns alone | 0 of 1 | 0 of 3 | 0 of 0",
        "judge alone | 0 of 1 | 3 of 3 | 0 of 3",
        "either | 0 of 1 | 3 of 3 | 0 of 3",
        "with the judge | 0 of 1 | 0 of 3 | 0 of 0",  # it names no message of the narrator
        "0 of the judge's 0 name a message within a turn of the label",
    ]
    assert "0 of the judge's 1 name a message within a turn of the label" in told
    lines = list(listed(cases(), judging))
    assert lines[:2] == ["missed  read: contradiction, judged PASS", "        as [0] says"]
    assert "false   clean: contradiction, judged FAIL" in lines


def test_a_judge_that_answers_nonsense_finds_nothing_and_is_counted_as_without_a_verdict() -> None:
    judging = judged("nonsense")
    told = counts(judging)
    assert told[4:6] == [
        "judge alone | 0 of 1 | 0 of 3 | 0 of 0",
        told[3].replace("patterns alone", "either"),
    ]
    assert told.count("without a verdict: 0 UNCERTAIN, 4 none") == 5


def test_what_the_cap_left_unjudged_is_left_out_of_all_rows() -> None:
    judging = judged("right")
    verdicts = {key: one for key, one in judging.verdicts.items() if key[0] != "read"}
    told = counts(judging._replace(verdicts=verdicts))
    assert told[2] == "1 of 4 transcripts were not judged; they are left out here"
    assert told[4] == "patterns alone | 0 of 0 | 0 of 3 | 0 of 0"


@pytest.mark.parametrize("position", [0, 1])
def test_a_judge_is_given_what_a_session_of_it_has_said(position: int) -> None:
    one = cases()[position]
    assert [message.text for message in one.messages if message.turn == 2] == [
        "You knock. Nobody comes.",
        "I wait.",
        "We wait.",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["held-out", "sixth-author"])
def test_with_a_judge_that_reads_most_is_found_of_what_nobody_has_seen(name: str) -> None:
    transcripts = read_set(FOLDER / name)
    cases = [as_case(one) for one in transcripts]
    judging = recorded(cases, FOLDER / "answers" / f"{name}.jsonl")
    found = [as_judged(case, judging) for case in cases]
    tally = tallied(list(zip(transcripts, found, strict=True)))
    assert tally.precision is not None
    assert tally.recall is not None
    assert tally.precision >= 0.8
    assert tally.recall >= 0.6


def test_answers_that_are_on_file_count_as_those_of_a_run(tmp_path: Path) -> None:
    played, file = judged("right"), tmp_path / "answers.jsonl"
    reports = {(one.name, n): report for one in cases() for n, report in enumerate(one.reports)}
    answers = [
        {"transcript": name, "kind": kind, "word": one.word, "reason": one.reason}
        for (name, kind), one in played.verdicts.items()
    ] + [
        {"transcript": key[0], "kind": reports[key].kind, "report": reports[key].told}
        | {"word": one.word, "reason": one.reason}
        for key, one in played.confirmed.items()
    ]
    file.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    assert len(played.confirmed) == 2
    assert counts(recorded(cases(), file))[1:] == counts(played)[1:]
