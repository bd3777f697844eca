"""Laws of the judge: it scores what stands in the text, plus noise."""

from __future__ import annotations

import re
from statistics import mean, stdev

import pytest

from matrix.judging.request import Part, judge_request, judge_system
from matrix.judging.rubric import Criterion, Rubric
from matrix.judging.verdict import RubricVerdict, parse_verdict
from matrix.kinds.playtest.table.judge import QUALITIES
from matrix.providers.simulated.provider import answer
from matrix.providers.simulated.roles.judge import look_at
from matrix.providers.simulated.settings import SimulationSettings, TraitsByCell
from matrix.providers.simulated.story.story import story_of
from tests.providers.loop import GUIDE, Session, call_of, play_session


def _is_long(line: str) -> bool:
    return line.startswith("Narrator: ") and len(line) > 200


RUBRIC = Rubric("Judge the session.", tuple(Criterion(name, "How?") for name in QUALITIES))


def verdict(transcript: str, seed: int = 1, **traits: float) -> RubricVerdict:
    """The judge's verdict on a transcript, with the traits given."""
    request = judge_request([Part("Story guide", GUIDE), Part("Transcript", transcript)])
    resolved = TraitsByCell(SimulationSettings(traits=traits)).of({})
    text = answer(call_of(judge_system(RUBRIC), request, seed), resolved)
    found = parse_verdict(text, RUBRIC)
    assert found is not None
    return found


def overall(transcript: str, seed: int = 1, **traits: float) -> float:
    return mean(verdict(transcript, seed, judge_noise=0.0, **traits).scores.values())


@pytest.mark.slow
def test_every_dimension_gets_a_score_and_the_reason_names_what_was_seen(
    sessions: list[Session],
) -> None:
    found = verdict(sessions[0].transcript)
    assert set(found.scores) == set(QUALITIES)
    assert "story" in found.reason


FLAWS = ("forced_segue", "loop", "contradiction", "guide_deviation", "misclassify")


def test_a_flaw_or_a_missing_end_scores_lower() -> None:
    settings = SimulationSettings(traits=dict.fromkeys(FLAWS, 0.0))
    for seed in range(10):
        clean = play_session(seed, settings=settings).transcript
        forced = clean + "\nNarrator: Anyway, back to the story. What do you do?"
        looped = clean + "\n" + next(line for line in clean.split("\n") if _is_long(line))
        cut = clean[: len(clean) // 3]
        assert overall(forced) < overall(clean)
        assert overall(looped) < overall(clean)
        assert overall(cut) < overall(clean)
    told = verdict(forced).reason
    assert "Returns to the story are forced." in told
    assert not re.search(r"\d", told)  # what is counted stands in the scores, and may be otherwise


def test_a_thing_in_two_states_is_a_contradiction() -> None:
    told = "Narrator: The way back is clear. You go.\nNarrator: The way back is blocked."
    assert look_at(told, story_of(GUIDE)).contradictions == 1
    spoken = 'Narrator: You go. The way back is clear. "Mind that." The way back is blocked.'
    assert look_at(spoken, story_of(GUIDE)).contradictions == 1
    assert look_at(told.replace("blocked", "clear"), story_of(GUIDE)).contradictions == 0


def test_noise_has_the_spread_of_its_trait_and_bias_shifts_every_score() -> None:
    transcript = play_session(3).transcript
    scores = [verdict(transcript, seed, judge_noise=0.6).scores["pacing"] for seed in range(200)]
    assert 0.35 < stdev(scores) < 0.75
    assert overall(transcript, judge_bias=-1.0) < overall(transcript) - 0.5


@pytest.mark.slow
def test_a_planted_effect_on_segues_raises_the_scores() -> None:
    effect = {"factor": "prompt", "level": "calm", "trait": "forced_segue", "multiply": 0.5}
    settings = SimulationSettings.model_validate(
        {"effects": [effect], "traits": {"player_tangent": 3.0}}
    )
    gains = []
    for seed in range(40):
        score = {
            level: overall(play_session(seed, settings=settings, cell={"prompt": level}).transcript)
            for level in ("calm", "plain")
        }
        gains.append(score["calm"] - score["plain"])
    assert mean(gains) > 0.05
