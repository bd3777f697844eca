"""Laws of reviews: whom the judge is asked about again, what it finds, and what that is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from matrix.judging.asking import Judged
from matrix.judging.verdict import RubricVerdict
from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.table.judge import QUALITIES
from matrix.kinds.playtest.table.review import is_unsure
from matrix.kinds.protocol import Binding
from matrix.model.errors import BadInput, CallFailed
from tests.kinds.fakes import Asked, Played, make_prelude, play_session
from tests.kinds.playtest.script import BEATS, PROSE, SCENARIO, Script, binding, plan

GROUP = ["joker", "engaged", "drifter"]
BOTH = ["contradiction", "character_break"]
BEST = dict.fromkeys(QUALITIES, 5)
PASS = "VERDICT: PASS - nothing is against anything"


def marks(**changed: float) -> str:
    return json.dumps({**BEST, **changed})


def play(
    quality: str, *verdicts: str, narrator: tuple[str, ...] = PROSE[:3], **options: object
) -> Played:
    """A session with the judge's marks, and its verdicts on issues in the order of asking."""
    chosen = {"group": GROUP, "check_issues": BOTH, **options}
    script, given = Script(narrator=narrator, verdicts=[quality]), list(verdicts)

    def handler(asked: Asked) -> str:
        if "VERDICT: PASS|FAIL|UNCERTAIN" not in asked.system:
            return script(asked)
        if not given:
            raise CallFailed("provider", "gone away")
        return given.pop(0)

    bound, session = binding(options=json.dumps(chosen)), plan(options=chosen)
    prelude = make_prelude(KIND, session, bound.resources, handler)
    return play_session(KIND, session, bound.resources, handler, prelude=prelude)


def reviews(played: Played) -> list[Asked]:
    return [one for one in played.asked if "VERDICT: PASS|FAIL|UNCERTAIN" in one.system]


def number_of(played: Played, text: str) -> int:
    return next(n for n in range(len(played.log)) if text in played.log[n].text)


def test_nobody_is_asked_by_default() -> None:
    assert not reviews(play(marks(coherence=1), check_issues=[]))
    assert "check_issues" not in PlaytestOptions().model_dump(mode="json"), "ids are made of it"


def test_where_the_judge_found_nothing_amiss_nobody_is_asked_again() -> None:
    assert not reviews(play(marks(pacing=1, fun_factor=1)))


def test_each_issue_is_asked_about_where_its_marks_are_not_the_best() -> None:
    coherence = reviews(play(marks(coherence=4), PASS, PASS))
    assert [("contradict" in one.system) for one in coherence] == [True, False]
    (adherence,) = reviews(play(marks(story_guide_adherence=4), PASS))
    assert "fall out of character" in adherence.system


def test_without_marks_there_is_nothing_to_go_by_and_it_is_asked() -> None:
    assert len(reviews(play("", PASS, PASS, with_judge=False))) == 2
    assert len(reviews(play("no marks at all", PASS, PASS))) == 2


ASSISTANT = ("As an AI language model, I cannot tell what is behind the door.", *PROSE[:2])
FAIL = 'VERDICT: FAIL - [9] "As an AI language model"'


def test_what_a_rule_reports_is_confirmed_at_the_end_and_not_looked_for_again() -> None:
    played = play(marks(coherence=1), FAIL, PASS, narrator=ASSISTANT)
    assert played.values["character_breaks"] == 1
    confirming, reading = reviews(played)
    assert "Judge that report alone" in confirming.system
    assert "## report\n<<<\ncharacter_break (narrator): As an AI" in confirming.request
    assert f"narrator: {ASSISTANT[0]}" in confirming.request
    assert PROSE[0] not in confirming.request, "that was told later"
    assert "contradict the story" in reading.system


def test_what_the_judge_passes_does_not_count_and_is_told() -> None:
    clean = play(marks(coherence=1), PASS, PASS, narrator=(PROSE[2], *PROSE[:2]))
    played = play(marks(coherence=1), PASS, PASS, PASS, narrator=ASSISTANT)
    assert len(reviews(played)) == 3, "the session is read for what the rule may have missed"
    assert played.of_kind("character_break") == []
    (event,) = played.of_kind("not_confirmed")
    assert (event.subject, event.turn, event.severity) == ("character_break", 1, "")
    assert "nothing is against anything (a rule reported character_break" in event.detail
    assert played.values["part_soundness"] == clean.values["part_soundness"]


@pytest.mark.parametrize("answers", [("VERDICT: UNCERTAIN - who knows", PASS), ("hm", "hm", PASS)])
def test_a_judge_that_cannot_tell_leaves_a_report_as_it_is(answers: tuple[str, ...]) -> None:
    played = play(marks(coherence=1), *answers, narrator=ASSISTANT)
    assert played.values["character_breaks"] == 1
    assert played.of_kind("not_confirmed") == []


def test_a_contradiction_ends_a_session_only_if_it_is_confirmed() -> None:
    door = "The door of the cellar is locked."
    told = (f"{PROSE[0]} {door}", f"{PROSE[1]} {door.replace('locked', 'wide open')}", PROSE[2])

    def ended(*verdicts: str, check_issues: tuple[str, ...] = ("contradiction",)) -> Played:
        ends = ["contradiction"]
        return play(marks(), *verdicts, narrator=told, end_on=ends, check_issues=check_issues)

    at_once = ended(check_issues=())
    assert at_once.ended is not None, "or this test shows nothing"
    confirmed = ended('VERDICT: FAIL - [1] "locked", [9] "wide open"')
    assert confirmed.ended == at_once.ended
    assert confirmed.values["contradictions"] == 1
    passed = ended(PASS)
    assert passed.ended == ("completed", "concluded")
    assert passed.values["contradictions"] == 0


def test_a_session_that_failed_is_read_as_well() -> None:
    told = ("Steam.", *[PROSE[0]] * 6)
    failed = play("", PASS, narrator=told, check_issues=["character_break"])
    assert failed.ended is not None
    assert failed.ended[0] == "failed", "or this test shows nothing"
    assert len(reviews(failed)) == 1
    said = f'VERDICT: FAIL - [{number_of(failed, PROSE[0])}] "Steam rolls"'
    found = play("", said, narrator=told, check_issues=["character_break"])
    assert found.values["character_breaks"] == 1


def test_what_one_player_alone_heard_is_told_to_the_judge() -> None:
    name = play("", PASS, check_issues=[]).players[0].name
    told = f"[To {name} only] There is a name scratched under the ledge: yours."
    played = play("", PASS, narrator=(PROSE[0], told, PROSE[1]), check_issues=["contradiction"])
    (asked,) = reviews(played)
    assert f"narrator (private/{name}): " in asked.request
    assert f"{name} (private/{name}): " in asked.request
    assert f"narrator: {PROSE[0]}" in asked.request


def test_beyond_some_that_were_confirmed_rules_are_believed() -> None:
    said = f"As an AI language model I cannot help with this, {{}}. {PROSE[0]}"
    told = tuple(said.format(word) for word in ("Ana", "Bob", "Cem", "Dee", "Eve", "Fay", "Gus"))
    played = play(marks(), *[FAIL] * 7, narrator=told, end_on=[])
    assert played.values["character_breaks"] == 7
    assert len(reviews(played)) == 5


def test_a_review_sees_guide_and_numbered_messages_but_no_system_prompt() -> None:
    played = play(marks(coherence=1), PASS, PASS)
    for asked in reviews(played):
        assert "## guide\n<<<\n# " in asked.request
        assert f"[{number_of(played, PROSE[1])}] narrator: {PROSE[1]}" in asked.request
        assert "Likes trains." not in asked.request


def test_what_it_finds_is_an_issue_of_the_turn_that_it_names_and_counts() -> None:
    before = play(marks(coherence=1), PASS, PASS)
    at = number_of(before, PROSE[1])
    found = play(marks(coherence=1), f'VERDICT: FAIL - [{at}] says "the corridor lamp"', PASS)
    (event,) = found.of_kind("contradiction")
    assert (event.turn, event.data) == (2, {"by": "judge"})
    assert "the corridor lamp" in event.detail
    assert (before.values["contradictions"], found.values["contradictions"]) == (0, 1)
    assert (found.values["score"] or 0) < (before.values["score"] or 0)


@pytest.mark.parametrize("line", ["VERDICT: FAIL", "VERDICT: FAIL - both cannot be"])
def test_what_a_judge_says_above_its_line_names_the_message(line: str) -> None:
    before = play(marks(coherence=1), PASS, PASS)
    at = number_of(before, PROSE[1])
    said = f'Message [{at}] says "the corridor lamp".\n\n{line}'
    (event,) = play(marks(coherence=1), said, PASS).of_kind("contradiction")
    assert (event.turn, "the corridor lamp" in event.detail) == (2, True)


@pytest.mark.parametrize(
    "verdict",
    [
        "VERDICT: FAIL - it contradicts itself all the time",
        "VERDICT: FAIL - [99999] is against [88888]",
        "VERDICT: FAIL - [{relay}] says otherwise",
    ],
)
def test_a_fail_that_names_no_message_of_the_narrator_counts_nothing(verdict: str) -> None:
    before = play(marks(coherence=1), PASS, PASS)
    told = verdict.replace("{relay}", str(number_of(before, "We go along, for the 1.")))
    played = play(marks(coherence=1), told, PASS)
    assert played.values == before.values
    assert [one.subject for one in played.of_kind("not_reviewed")] == ["contradiction"]


def test_who_cannot_tell_or_cannot_be_reached_counts_nothing_and_ends_nothing() -> None:
    before = play(marks(coherence=1), PASS, PASS)
    unsure = play(marks(coherence=1), "VERDICT: UNCERTAIN - who knows", PASS)
    unread = play(marks(coherence=1), "hm", "hm", PASS)
    gone = play(marks(coherence=1))
    for played in (unsure, unread, gone):
        assert played.values == before.values
    assert len(gone.of_kind("not_reviewed")) == 2


def test_several_judgings_are_taken_together() -> None:
    def one(mark: float) -> Judged[RubricVerdict]:
        return Judged(RubricVerdict({**BEST, "coherence": mark}, "", {}), "m")

    lost = Judged[RubricVerdict](None, "m")
    assert not is_unsure("contradiction", {}, [one(5), lost])
    assert is_unsure("contradiction", {}, [one(5), one(4)])
    assert is_unsure("contradiction", {}, [lost])
    assert not is_unsure("contradiction", {"contradiction": 1}, [one(1)])


def bound(tmp_path: Path, **options: object) -> Binding:
    library = FolderLibrary(tmp_path, shipped_root())
    folder = library.folder("playtest", SCENARIO)
    assert folder is not None
    pack = KIND.read_pack(folder, SCENARIO)
    checked = PlaytestOptions.model_validate({"group": GROUP, **options})
    return KIND.bind(pack, checked, {}, library, 40)


def test_the_estimate_has_them_and_less_of_them_where_there_are_marks(tmp_path: Path) -> None:
    def judging(**options: object) -> float:
        profile = bound(tmp_path, **options).profile
        return sum(one.calls[1] for one in profile if one.role == "judge")

    assert judging() == 1
    assert judging(check_issues=BOTH) == pytest.approx(1 + 2 * (0.6 + 0.3))
    assert judging(check_issues=BOTH, with_judge=False) == pytest.approx(2 * (0.9 + 0.3))


def test_a_project_may_have_rubrics_of_its_own_and_mistakes_in_them_are_told(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "scenarios" / "playtest" / "rubrics"
    folder.mkdir(parents=True)
    own = folder / "contradiction.md"
    own.write_text("---\nanswer: verdict\n---\nIs a door open that was shut?\n")
    texts = bound(tmp_path, check_issues=["contradiction"]).resources["rubrics"]
    assert "a door open" in texts["contradiction"]["instructions"]
    own.write_text("---\nanswer: scores\ncriteria: {doors: how many}\n---\nCount doors.\n")
    with pytest.raises(BadInput, match="found answer: scores"):
        bound(tmp_path, check_issues=["contradiction"])


def test_an_ending_that_the_rule_has_counted_as_early_is_asked_of_nobody() -> None:
    early = play(marks(pacing=1), check_issues=["early_end"])
    assert (early.values["early_ends"], reviews(early)) == (1, [])
    told = play(marks(pacing=1), PASS, narrator=BEATS, check_issues=["early_end"])
    (asking,) = reviews(told)
    assert "brought to an end long before it is told" in asking.system
    assert (told.values["early_ends"], told.values["finished"]) == (0, 1)


def test_an_ending_that_the_judge_finds_early_is_no_finished_story() -> None:
    def told(verdict: str) -> Played:
        return play(marks(pacing=1), verdict, narrator=BEATS, check_issues=["early_end"])

    found = told(f'VERDICT: FAIL - [{len(told(PASS).log) - 1}] "THE END"')
    assert (found.values["early_ends"], found.values["finished"]) == (1, 0)


@pytest.mark.parametrize("wrong", [["loop"], ["contradiction", "contradiction"], "all"])
def test_other_issues_are_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        PlaytestOptions.model_validate({"check_issues": wrong})
