"""A small play-test loop over simulated models, independent of the engine and of the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from matrix.kinds.playtest.setup import prompts
from matrix.model.records import Call, CallKey, CallParams, ChatMessage
from matrix.model.seeds import derive_seed, stream
from matrix.providers.simulated.provider import SimulatedProvider, answer
from matrix.providers.simulated.roles.narrator import narrate
from matrix.providers.simulated.settings import SimulationSettings, TraitsByCell

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "playtest"

GUIDE = """\
# The Ferry That Was Not

Every evening at six a ferry crosses to Gull Rock. Last night it came back without its ferryman.

## Pulses

1. **The Empty Boat** — The ferry knocks against the Long Pier with its engine warm and nobody \
aboard. Widow Tarn hands you the rope and asks whether to tie it up or to cast off at once.
2. **Six Coins** — Under the bench lie six coins, one for each passenger, and a seventh that is \
cut in half. Widow Tarn will not touch it.
3. **Across the Sound** — Halfway over, the Fog Bell rings from the wrong side of the water. You \
may follow it, stop the engine, or turn back.
4. **Gull Rock** — On Gull Rock a lamp stands lit in the Keeper's Window, and no keeper has lived \
there for nine years. The door is open, and the kettle is on.
5. **Two Cups** — Silas Orme, the ferryman, pours tea for you and for somebody who is not in the \
room. He is in no hurry, and he asks what the coin was worth to you.
6. **The Other Half** — The other half of the coin lies in the saucer. Silas Orme will row home if \
one of you takes his chair.
7. **Low Water** — At low water a causeway shows, and it leads the wrong way. The Fog Bell has \
stopped.
8. **The Crossing Back** — The engine will carry all of you but one. Silas Orme holds out the \
rope, and it is yours to take or to leave.

## Places

- **The Long Pier** — Tar, wet rope, and boards that answer every step.
- **Gull Rock** — A hump of granite, white with birds.
- **The Keeper's Window** — One lamp behind salt-blind glass.

## People

- **Widow Tarn** — Harbour mistress; speaks in tides; wants the books to balance.
- **Silas Orme** — The ferryman; answers a question with a smaller one; wants to be relieved.

## Devices

- **The Fog Bell** — Cracked, and never quite in time.
- **The Half Coin** — Silver, cut clean through the king.

## Private moments

- **The Seventh** — You have the other half of that coin at home. You have never said so.
- **The Voice** — Somebody in the empty chair says your name.

## Ending

The ferry ties up at six. Widow Tarn counts the coins and finds that they come out even, and in \
the Keeper's Window a lamp is lit by somebody else.
"""

PROSE = """\
# The Orchard Wall

An old wall runs round an orchard that nobody owns. The players climb it on the first warm day of \
the year.

Inside, the trees are in fruit although it is March. The fruit is warm to the touch, as if it had \
been held.

A child sits in the tallest tree and counts. The group arrives at the number nine. The child will \
not say what happens at ten.

At dusk a gate opens that was not in the wall before. Beyond it lies the same orchard in snow.
"""


class Archetype(NamedTuple):
    """The fields of an archetype that prompts use."""

    name: str
    style: str
    context: str
    patterns: tuple[str, ...]
    quirk_frequency: float
    relay: str | None = None


POOL = tuple(
    Archetype(f"The {name}", style, context, ("You mostly play along.",), quirk)
    for name, style, context, quirk in (
        ("Joker", "Looks for the laugh", "Sells for a living and likes a pub quiz.", 0.3),
        ("Engaged", "Takes the story seriously", "Reads novels on the train.", 0.1),
        ("Questioner", "Asks for the detail", "Works in testing and likes puzzles.", 0.25),
        ("Wildcard", "Tries the unexpected", "Plays video games to see what they allow.", 0.2),
        ("Follower", "Goes along", "Came because friends invited them.", 0.1),
        ("Curious", "Wants to know", "Watches long video essays and takes clocks apart.", 0.3),
        ("Optimizer", "Weighs the options", "Plays strategy games.", 0.2),
        ("Invested", "Cares about people", "Gets attached to people in games.", 0.25),
        ("Drifter", "Half here", "Has had a long week.", 0.2),
        ("Experienced", "Knows the genre", "Has read everything with a tower in it.", 0.2),
    )
)
MOODS = ("cheerful", "tired", "focused", "restless", "talkative", "impatient", "quiet")


def make_call(
    messages: list[ChatMessage],
    seed: int,
    *,
    role: str = "narrator",
    cell: Mapping[str, str] | None = None,
    max_tokens: int = 512,
) -> Call:
    """A call as the engine would hand it to a provider."""
    return Call(
        key=CallKey("s", "turn", 1, "0"),
        digest="",
        order=0,
        role=role,
        model="sim/any",
        messages=tuple(messages),
        params=CallParams(max_tokens=max_tokens),
        seed=seed,
        cell=cell or {},
    )


def call_of(
    system: str, user: str, seed: int, cell: Mapping[str, str] | None = None, **more: Any
) -> Call:
    """A call with one system and one user message."""
    return make_call(
        [ChatMessage("system", system), ChatMessage("user", user)], seed, cell=cell, **more
    )


@dataclass
class Session:
    """What a session left behind: outputs with moves and labels, and everything that was said."""

    names: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    labels: list[dict[str, Any]] = field(default_factory=list)
    relays: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    messages: list[ChatMessage] = field(default_factory=list)

    @property
    def transcript(self) -> str:
        return "\n".join(self.lines)

    @property
    def concluded(self) -> bool:
        return bool(self.labels) and bool(self.labels[-1]["concluded"])


class Loop:
    """Plays one session: narrator, classifier, players, spokesperson."""

    def __init__(
        self,
        guide: str,
        seed: int,
        settings: SimulationSettings,
        prompt: str,
        cell: Mapping[str, str],
    ) -> None:
        self.guide, self.seed, self.prompt, self.cell = guide, seed, prompt, cell
        self.traits = TraitsByCell(settings).of(cell)
        self.calls = 0
        self.title = guide.partition("\n")[0].lstrip("# ")
        self.done = Session()
        rng = stream(seed, "group")
        self.pool = [rng.choice(POOL) for _ in range(rng.randint(2, 5))]
        self.moods = [rng.choice(MOODS) for _ in self.pool]
        self.speaker = rng.randrange(len(self.pool))
        self.systems: list[str] = []

    def ask(self, system: str, user: str) -> str:
        self.calls += 1
        call = call_of(system, user, derive_seed(self.seed, self.calls), self.cell)
        text = answer(call, self.traits)
        self.done.texts.append(text)
        return text

    def narrate(self, user: str) -> str:
        self.done.messages.append(ChatMessage("user", user))
        self.calls += 1
        rng = stream(derive_seed(self.seed, self.calls), "answer")
        move, text = narrate(self.done.messages, rng, self.traits)
        self.done.messages.append(ChatMessage("assistant", text))
        self.done.texts.append(text)
        self.done.moves.append(move)
        self.done.outputs.append(text)
        self.say("Narrator", text)
        return text

    def say(self, who: str, text: str) -> None:
        self.done.lines.append(f"{who}: {text}")

    def cast(self) -> None:
        for archetype, mood in zip(self.pool, self.moods, strict=True):
            system = prompts.persona_system(self.title, "A small harbour.", self.done.names, [])
            request = prompts.persona_request(archetype, "new in town")  # type: ignore[arg-type]
            persona = orjson.loads(self.ask(system, request))
            self.done.names.append(persona["name"])
            self.systems.append(
                prompts.player_system(archetype, mood=mood, title=self.title, **persona)  # type: ignore[arg-type]
            )

    def everybody(self, request: Callable[[str], str]) -> list[tuple[str, str]]:
        said = [
            (name, self.ask(system, request(name)))
            for name, system in zip(self.done.names, self.systems, strict=True)
        ]
        for name, text in said:
            self.say(name, text)
        return said

    def turn(self, narration: str) -> str:
        label = self.done.labels[-1]
        target = label["private_target"]
        if target in self.done.names:
            system = self.systems[self.done.names.index(target)]
            reaction = self.ask(system, prompts.private_request(narration, target))
            self.say(f"{target} (privately)", reaction)
            return f"[private] {target}: {reaction}"
        recent = "\n".join(self.done.lines[-8:])
        said = self.everybody(lambda name: prompts.reaction_request(recent, narration, name))
        system = prompts.spokesperson_system(
            self.pool[self.speaker],  # type: ignore[arg-type]
            self.done.names[self.speaker],
        )
        relay = self.ask(system, prompts.relay_request(narration, said))
        self.say(f"{self.done.names[self.speaker]} (spokesperson)", relay)
        return relay

    def play(self, most: int = 60) -> Session:
        self.cast()
        system = prompts.narrator_system(self.prompt, self.title, self.guide)
        self.done.messages.append(ChatMessage("system", system))
        text = self.narrate(prompts.opening_request(len(self.pool)))
        said = self.everybody(lambda _: prompts.introduction_request(text))
        text = self.narrate(prompts.questions_request(_lines(said)))
        said = self.everybody(lambda _: prompts.question_request(text))
        relay = prompts.begin_request(_lines(said))
        for _ in range(most):
            text = self.narrate(relay)
            request = prompts.classify_request(self.done.names, relay, text)
            self.done.labels.append(orjson.loads(self.ask(prompts.classifier_system(), request)))
            self.done.relays.append(relay)
            if self.done.labels[-1]["concluded"]:
                break
            relay = self.turn(text)
        return self.done


def _lines(said: list[tuple[str, str]]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in said)


def play_session(
    seed: int,
    *,
    guide: str = GUIDE,
    settings: SimulationSettings | None = None,
    prompt: str = "Tell the story.",
    cell: Mapping[str, str] | None = None,
) -> Session:
    """Play one session to its end, or for 60 turns."""
    return Loop(guide, seed, settings or SimulationSettings(), prompt, cell or {}).play()


async def _no_sleep(seconds: float) -> None:
    raise AssertionError(f"virtual time must not sleep, asked for {seconds} s")


def provider_with(**settings: Any) -> SimulatedProvider:
    """A provider that fails the test if it sleeps."""
    return SimulatedProvider(SimulationSettings.model_validate(settings), _no_sleep)
