"""How a simulated narrator words an output: the guide's own sentences, and thread between them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from matrix.model.records import ChatMessage
from matrix.providers.simulated.answers import answer_to
from matrix.providers.simulated.cues import Relay
from matrix.providers.simulated.grammar import (
    capitalised,
    clipped,
    ended,
    listed,
    sentences,
    uncapitalised,
)
from matrix.providers.simulated.phrasebook import asides, narration
from matrix.providers.simulated.phrasebook.bank import filled, pick
from matrix.providers.simulated.story import Beat, Person, Story
from matrix.providers.simulated.table import THE_END, Table

_ASIDE = re.compile(r"\[To ([^\]]+) only\] ([^\n]+)")
_FEW_WORDS = 62
_OPENING_WORDS = 62


class Teller:
    """Words one output. Lines are dealt by position, so that a session hears few twice.

    After an output, ``told_beat`` is the number (from 1) of the beat it told, ``target`` the
    player it spoke to alone, and ``ended`` whether it closed the story.
    """

    def __init__(self, story: Story, table: Table, relay: Relay, rng: random.Random) -> None:
        self._story, self._table, self._relay, self._rng = story, table, relay, rng
        self._turn = table.group.key + table.outputs
        self._here: Beat | None = story.beats[table.told] if table.told >= 0 else None
        self._fills = self._slots(self._here)
        self.told_beat = 0
        self.target = ""
        self.ended = False

    @property
    def at_end(self) -> bool:
        """Whether every beat has been told."""
        return self._table.told >= len(self._story.beats) - 1

    def _slots(self, beat: Beat | None) -> dict[str, str]:
        group, slots = self._table.group, _counted(self._table.group.number)
        if group.names:
            slots["names"] = listed(list(group.names))
            mentioned = [name for name in group.names if name in self._table.relay]
            names = mentioned or group.names
            slots["name"] = names[self._turn % len(names)]
        if beat is None:
            return slots
        if beat.here:
            slots["place"] = beat.here.name
        if beat.devices:
            slots["device"] = beat.devices[self._turn % len(beat.devices)].name
        people = [person for person in beat.people if person.speaks]
        if people:
            slots["person"] = people[self._turn % len(people)].name
        if self._relay.topic:
            slots["topic"] = self._relay.topic
        return slots

    # --- before the story ------------------------------------------------------------------------

    def _opening(self) -> str:
        words = 0
        premise: list[str] = []
        for line in self._story.premise:
            words += len(line.split())
            if premise and words > _OPENING_WORDS:
                break
            premise.append(line)
        return "\n\n".join(
            (
                narration.WELCOMES.draw(self._rng, self._fills),
                " ".join(premise),
                narration.WHO_ARE_YOU.draw(self._rng, self._fills),
            )
        )

    def _question(self) -> str:
        hello = narration.GREETINGS.draw(self._rng, self._fills)
        return f"{hello} {narration.CHARACTER_QUESTIONS.draw(self._rng, self._fills)}".strip()

    # --- pulses ----------------------------------------------------------------------------------

    def nod(self, draw: float, chance: float) -> str:
        """What the group just did, taken up in a sentence; empty when there is nothing to take."""
        relay, fills = self._relay, self._fills
        if self._table.told < 0:
            return narration.BEGINNINGS.draw(self._rng, fills)
        if self._table.relay.startswith("[private]"):
            bank = narration.SHARED_NODS if relay.shared else narration.SECRET_NODS
            return bank.deal(self._turn, fills)
        if relay.question and (passing := self._in_passing()):
            return passing
        if draw >= chance:
            return ""
        part = self._table.group.parts.get(fills.get("name", ""))
        if part and draw < 0.12 * chance:
            return narration.CHARACTER_NODS.deal(self._turn, {**fills, "part": part})
        return self._taken_up()

    def _taken_up(self) -> str:
        relay, fills = self._relay, self._fills
        if relay.did and (not relay.clause or self._turn % 3 == 0):
            return narration.NAMED_NODS.deal(self._turn, {"did": relay.did})
        if relay.clause:
            low = uncapitalised(relay.clause)
            slots = {"clause": relay.clause, "clause_low": low}
            return narration.GROUP_NODS.deal(self._turn, slots)
        if "name" in fills:
            return narration.TAKEN_UP.deal(self._turn, {"name": fills["name"]})
        return ""

    def _in_passing(self) -> str:
        answer = answer_to(self._relay.question, self._story, self._fills, self._turn)
        slots = {"answer": answer, "answer_low": uncapitalised(answer)}
        if "name" in self._fills and self._fills["name"] in self._relay.question:
            slots["name"] = self._fills["name"]
        return asides.IN_PASSING.deal(self._turn, slots)

    def pulse(
        self,
        lead: str,
        facts: tuple[str, str],
        extras: tuple[str, ...],
        *,
        colour: bool,
        choice: bool,
    ) -> str:
        """The next beat: its own sentences, something to see or hear, and a question.

        Args:
            lead: What goes before it, such as a nod to the players or a way back.
            facts: What is stated before the scene is described, and what after.
            extras: Sentences that have nothing to do with the beat.
            colour: Whether a place, a device or a voice of the guide is added.
            choice: Whether it ends with a question.
        """
        index = self._table.told + 1
        beat = self._story.beats[index]
        self.told_beat = index + 1
        self._fills = self._slots(beat)
        first = f"{lead} {beat.text}".strip()
        second = [self._colour(beat, index)] if colour else []
        if len(first.split()) + sum(len(line.split()) for line in second) < _FEW_WORDS:
            second.insert(0, self._look(beat) or narration.SENSES.deal(self._turn, self._fills))
        second = [facts[0], *second, facts[1], *extras]
        if choice and not beat.text.endswith("?"):
            second.append(beat.choice or narration.CLOSINGS.deal(self._turn, self._fills))
        rest = " ".join(dict.fromkeys(line for line in second if line))
        return f"{first}\n\n{rest}" if rest else first

    def _colour(self, beat: Beat, index: int) -> str:
        speakers = [person for person in beat.people if person.speaks]
        turn = (self._table.group.key + index) % 3
        if speakers and (turn or not beat.place):
            return self._speech(speakers, index)
        return self._look(beat) or narration.SENSES.deal(self._turn, self._fills)

    def _look(self, beat: Beat) -> str:
        """A place or device of the beat, described in the guide's words."""
        if beat.place and beat.place.looks and self._is_new(beat):
            slots = {"place": beat.place.name, "look": beat.place.looks[0]}
            return narration.PLACES.deal(self._turn, slots)
        shown = self._here.devices if self._here else ()
        for device in beat.devices:
            if device.looks and device not in shown:
                look = device.looks[self._turn % len(device.looks)]
                return narration.DEVICES.deal(self._turn, {"device": device.name, "look": look})
        return ""

    def _is_new(self, beat: Beat) -> bool:
        return self._here is None or self._here.here is not beat.place

    def _speech(self, speakers: list[Person], index: int) -> str:
        """Somebody in the beat says a line in their manner."""
        position = self._table.group.key + index
        who = speakers[position % len(speakers)]
        others = [one.name for one in self._story.people if one is not who and one.speaks]
        slots = {**self._fills, "want": who.want, "want_up": capitalised(who.want)}
        if others:
            slots["other"] = others[position % len(others)]
        if who.want and position % 4 == 1:
            line = narration.WANTS.deal(position // 4, slots)
        else:
            line = narration.SPEECH.deal(position, slots)
        seen = sum(1 for beat in self._story.beats[:index] if who in beat.people)
        return spoken(line, who, position, introduced=seen % 3 > 0)

    def payoff(self, messages: Sequence[ChatMessage]) -> str:
        """What one player was told alone comes back for all to hear, if it has not yet."""
        told = [one.content for one in messages[:-4] if one.role == "assistant"]
        for text in told:
            if match := _ASIDE.search(text):
                secret = max(sentences(match[2]), key=lambda one: (not one.endswith("?"), len(one)))
                if sum(secret in one for one in told) == 1 and secret not in self._table.last:
                    slots = {"name": match[1], "secret": secret}
                    return narration.PAYOFFS.deal(self._turn, slots)
        return ""

    def fact(self) -> str:
        """A plain fact about the scene, stated in passing."""
        facts = self._facts()
        return facts[self._turn % len(facts)][0]

    def contradiction(self, messages: Sequence[ChatMessage]) -> tuple[str, str]:
        """A fact and its opposite; the fact is empty if it was stated lately."""
        recent = [one.content for one in messages[-17:] if one.role == "assistant"]
        for fact, denial in self._facts(everything=True):
            if any(fact in text for text in recent):
                return "", denial
        facts = self._facts()
        return facts[self._turn % len(facts)]

    def _facts(self, *, everything: bool = False) -> list[tuple[str, str]]:
        """Facts and their opposites: of the beat to come, or of the whole guide."""
        story = self._story
        beat = story.beats[min(self._table.told + 1, len(story.beats) - 1)]
        devices = story.devices if everything else beat.devices
        places = story.places if everything else (beat.place,) if beat.place else ()
        by_slot = {"device": devices, "place": () if beat.people and not everything else places}
        return [
            (filled(fact, {slot: name}), filled(denial, {slot: name}))
            for slot, fact, denial in narration.FACTS
            for name in ([""] if not slot else [one.name for one in by_slot[slot]])
            if not slot or name.startswith("the ")
        ]

    def stranger(self) -> str:
        """Somebody who is not in the guide."""
        known = self._story.text
        names = [
            name for name in narration.STRANGERS if not any(word in known for word in name.split())
        ]
        name = pick(self._rng, names or narration.STRANGERS)
        return narration.STRANGER_LINES.draw(self._rng, {"stranger": name})

    # --- everything else -------------------------------------------------------------------------

    def segue(self, *, forced: bool) -> str:
        """A way back to the story."""
        if forced:
            return pick(self._rng, asides.FORCED_SEGUES)
        return asides.NATURAL_SEGUES.draw(self._rng, self._fills, heard=self._table.last)

    def returned(self, lead: str) -> str:
        """A return to the scene as it was, without a new beat."""
        if lead in asides.FORCED_SEGUES:
            return f"{lead} {asides.FORCED_REMINDERS.draw(self._rng, self._fills)}"
        return f"{lead} {asides.HOOKS.draw(self._rng, self._fills)}"

    def clarification(self) -> str:
        """An answer, and nothing else."""
        answer = answer_to(self._relay.question, self._story, self._fills, self._turn)
        return f"{answer} {asides.ANSWER_TAILS.deal(self._turn // 2, self._fills)}"

    def private(self, messages: Sequence[ChatMessage]) -> str:
        """A word to one player alone: the guide's next private moment."""
        said = [
            one.content for one in messages if one.role == "assistant" and "[To " in one.content
        ]
        names = self._table.group.names
        unmet = [one for one in names if not any(f"[To {one} " in text for text in said)]
        self.target = name = pick(self._rng, unmet or names)
        fresh = [text for text in self._story.private if not any(text in one for one in said)]
        text = fresh[0] if fresh else asides.PRIVATE_PLAIN.draw(self._rng, self._fills)
        return f"[To {name} only] {text} {asides.PRIVATE_TAILS.deal(self._turn, self._fills)}"

    def ending(self, lead: str) -> str:
        """The guide's ending and the closing line."""
        self.ended = True
        lead = lead or asides.ENDINGS.draw(self._rng, self._fills)
        ending = " ".join(self._story.ending) or asides.PLAIN_ENDING
        farewell = asides.FAREWELLS.draw(self._rng, self._fills)
        return "\n\n".join(part for part in (f"{lead} {ending}", farewell, THE_END) if part)

    def simple(self, move: str) -> str:
        """The outputs that need nothing but the state of the table."""
        if move == "opening":
            return self._opening()
        if move == "question":
            return self._question()
        if move == "recap":
            return self._recap()
        if move == "epilogue":
            self.ended = True
            return f"{asides.EPILOGUE}\n\n{THE_END}"
        if move == "indulge":
            return asides.INDULGENCES.deal(self._turn, {})
        return self._linger()

    def _linger(self) -> str:
        slots = {"clause": self._relay.clause} if self._relay.clause else {}
        bank = asides.LINGERS if slots else asides.LINGERS_PLAIN
        return f"{bank.deal(self._turn, slots)} {asides.LINGER_TAILS.deal(self._turn // 2, self._fills)}"

    def _recap(self) -> str:
        told = self._story.beats[max(0, self._table.told - 2) : self._table.told + 1]
        links = ("First", "Then", "And just now")[-len(told) :]
        lines = [
            f"{link} {uncapitalised(ended(clipped(beat.telling[0], 16)))}"
            for link, beat in zip(links, told, strict=True)
        ]
        head = asides.RECAP_HEADS[self._turn % len(asides.RECAP_HEADS)]
        return " ".join((head, *lines, asides.RECAP_TAILS.deal(self._turn, self._fills)))


def spoken(line: str, who: Person, position: int, *, introduced: bool) -> str:
    """``line`` in quotation marks with who says it, in one of a few shapes.

    Their manner is told with it, unless they have been ``introduced`` with it already.
    """
    parts = sentences(line)
    name, shape = capitalised(who.name), position % 3
    if who.manner and not introduced:
        if shape == 0:
            return f'{name}, who {who.manner}, says: "{line}"'
        if shape == 1:
            return f'{name} {who.manner}. "{line}"'
        return f"{_quoted(line)} says {who.name}, who {who.manner}."
    if len(parts) == 2 and shape < 2:
        return f'{_quoted(parts[0])} says {who.name}. "{parts[1]}"'
    return f'{name} looks at you. "{line}"' if shape == 1 else f"{_quoted(line)} says {who.name}."


def _quoted(line: str) -> str:
    """A line of speech before its "says": a full stop becomes a comma."""
    return f'"{line[:-1]},"' if line.endswith(".") else f'"{line}"'


def _counted(number: str) -> dict[str, str]:
    """Slots for how many players there are."""
    everyone = "both of you" if number == "two" else f"all {number} of you"
    return {"count": number, "everyone": everyone if number != "several" else "all of you"}
