"""A scripted table: every role of a play-test answers by simple rules, all of them replaceable."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup import prompts
from matrix.kinds.playtest.setup.guide import parse_guide
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.protocol import Binding
from matrix.model.records import SessionPlan
from tests.kinds.fakes import Asked, CutShort

SCENARIO = "put-it-back"

PROSE = (
    "Steam rolls along the platform and a porter shouts a number that nobody answers to.",
    "The corridor lamp swings, and the carriage behind yours uncouples with a long sigh.",
    "In the dining car the soup arrives before the spoons, which is taken as an omen.",
    "A gentleman in grey bows twice and is gone before the second bow is finished.",
    "Frost has drawn a map on the window, and one of its roads leads to your compartment.",
    "Under the rack something breathes in its sleep and moves a paw across the brass.",
    "The ticket collector counts you, frowns, and counts you once more from the other end.",
    "Two whistles come back from the valley although the engine blew only one of them.",
    "A letter slides beneath the door, addressed in green ink to whoever is sitting nearest.",
    "Snow presses against the glass until the whole carriage glows like the inside of a shell.",
    "The steward hums a tune that the soloist three doors down has been practising all week.",
    "Somebody has hung a coat on your hook, and its pockets are heavier than coats should be.",
    "The bridge begins, and for a full minute every conversation in the train waits for its end.",
    "An inspector asks for the time, thanks you, and asks again as though she had forgotten.",
    "From the mail van comes the smell of hot wax and a voice that is pleased with itself.",
    "Morning leans in at the window and finds all of you exactly where you should not be.",
)
"""Sixteen different outputs of a narrator."""


BEATS = tuple(
    item.detail
    for item in parse_guide(
        (shipped_root() / "scenarios" / "playtest" / SCENARIO / "guide.md").read_text("utf-8")
    ).pulses
)
"""What the guide tells of its beats, in order."""


@cache
def binding(scenario: str = SCENARIO, options: str = "{}", max_turns: int = 60) -> Binding:
    """A shipped scenario joined with options given as JSON."""
    library = FolderLibrary(shipped_root())
    folder = library.folder("playtest", scenario)
    assert folder is not None
    pack = KIND.read_pack(folder, scenario)
    return KIND.bind(pack, PlaytestOptions.model_validate_json(options), {}, library, max_turns)


def plan(
    *,
    seed: int = 7,
    max_turns: int = 40,
    options: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
    levels: Mapping[str, str] | None = None,
) -> SessionPlan:
    """A planned session."""
    return SessionPlan(
        session_id="s",
        part="play",
        order=0,
        round=0,
        seed=seed,
        scenario=SCENARIO,
        kind="playtest",
        levels=levels or {},
        options=dict(options or {}),
        roles=roles or {},
        resources={},
        prelude_id=None,
        max_turns=max_turns,
        max_session_s=1e9,
    )


def label(kind: str = "pulse", **fields: Any) -> str:
    """A classifier's answer."""
    whole: dict[str, Any] = {
        "type": kind,
        "confidence": 0.9,
        "pulse": "Something happens" if kind == "pulse" else None,
        "private_target": None,
        "group_off_story": False,
        "segue": None,
        "segue_quality": None,
        "concluded": False,
    }
    return json.dumps(whole | fields)


@dataclass
class Script:
    """Answers for a whole table; give the parts that matter to a test.

    Attributes:
        narrator: Outputs of the story in order; the last one is followed by ``THE END``.
        labels: Turn -> classifier's answer; a pulse otherwise.
        say: What a player says in a turn, from (name, turn).
        private: What a player says in private.
        relay: What the spokesperson says in a turn.
        verdicts: The judge's answers in order; the last one stays.
        personas: Casting answers in order of asking; a fitting name otherwise.
        cut: Turns whose output ends because its most tokens are reached.
    """

    narrator: Sequence[str] = PROSE
    labels: Mapping[int, str] = field(default_factory=dict)
    say: Callable[[str, int], str] = lambda name, turn: f"I go along, says {name}."
    private: str = "I keep it to myself."
    relay: Callable[[int], str] = lambda turn: f"We go along, for the {turn}. time."
    verdicts: Sequence[str] = ('{"coherence": 4, "fun_factor": 3, "reason": "fine"}',)
    personas: Sequence[str] | None = None
    cut: Collection[int] = ()

    def __post_init__(self) -> None:
        self._cast = self._judged = 0

    def __call__(self, asked: Asked) -> str:
        system = asked.system
        if system.startswith(prompts.PERSONA):
            return self._persona(system)
        if system.startswith(prompts.NARRATOR):
            told = self._narrate(asked)
            return CutShort(told) if asked.turn in self.cut else told
        if system.startswith(prompts.CLASSIFIER):
            return self.labels.get(asked.turn) or label()
        if system.startswith(prompts.PLAYER):
            name = system.split("Name: ", 1)[1].split("\n", 1)[0]
            alone = "speaks to you alone" in asked.request
            return self.private if alone else self.say(name, asked.turn)
        if system.startswith(prompts.SPOKESPERSON):
            return self.relay(asked.turn)
        self._judged += 1
        return self.verdicts[min(self._judged, len(self.verdicts)) - 1]

    def _narrate(self, asked: Asked) -> str:
        if asked.turn == 0:
            return "Welcome, all of you. Who are you tonight?"
        if asked.turn > len(self.narrator):
            return "And so the night train goes on without you. THE END"
        return self.narrator[asked.turn - 1]

    def _persona(self, system: str) -> str:
        self._cast += 1
        if self.personas is not None:
            return self.personas[(self._cast - 1) % len(self.personas)]
        fitting = system.rsplit("Names that fit: ", 1)[-1].split(",", 1)[0]
        return json.dumps({"name": fitting, "backstory": "Likes trains.", "character": "A heir."})
