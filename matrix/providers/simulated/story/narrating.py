"""How a simulated narrator words an output: the guide's own sentences, and thread between them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.grammar import (
    clipped,
    ended,
    listed,
    uncapitalised,
)
from matrix.providers.simulated.language.phrasebook import asides, narration
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.story.answers import answer_to
from matrix.providers.simulated.story.cues import Relay
from matrix.providers.simulated.story.speech import speech_in
from matrix.providers.simulated.story.story import Beat, Story
from matrix.providers.simulated.story.table import THE_END, NarratorTable

_FEW_WORDS = 60
_MOST_PADDING = 4
_OPENING_WORDS = 62


class Teller:
    """Words one output. Lines are dealt by position, so that a session hears few twice.

    ``chosen`` is what the group chose of what it was offered, as "You ...", if it did.
    After an output, ``told_beat`` is the number (from 1) of the beat it told, ``target`` the
    player it spoke to alone, and ``ended`` whether it closed the story.
    """

    def __init__(
        self,
        story: Story,
        table: NarratorTable,
        relay: Relay,
        rng: random.Random,
        chosen: str = "",
    ) -> None:
        self.story, self._table, self._relay, self.rng = story, table, relay, rng
        self.turn = table.group.key + table.outputs
        self._chosen = chosen
        self._here: Beat | None = story.beats[table.told] if table.told >= 0 else None
        self._fills = self._slots(self._here)
        self.told_beat = 0
        self.target = ""
        self.ended = False

    @property
    def next_beat(self) -> Beat:
        """The beat to come; the last one when all have been told."""
        return self.story.beats[min(self._table.told + 1, len(self.story.beats) - 1)]

    @property
    def at_end(self) -> bool:
        """Whether every beat has been told."""
        return self._table.told >= len(self.story.beats) - 1

    def _slots(self, beat: Beat | None) -> dict[str, str]:
        group, slots = self._table.group, _counted(self._table.group.number)
        if group.names:
            slots["names"] = listed(list(group.names))
            mentioned = [name for name in group.names if name in self._table.relay]
            names = mentioned or group.names
            slots["name"] = names[self.turn % len(names)]
        if beat is None:
            return slots
        if beat.here:
            slots["place"] = beat.here.name
        if beat.devices:
            slots["device"] = beat.devices[self.turn % len(beat.devices)].name
        people = [person for person in beat.people if person.speaks]
        if people:
            slots["person"] = people[self.turn % len(people)].name
        if self._relay.topic:
            slots["topic"] = self._relay.topic
        return slots

    # --- before the story ------------------------------------------------------------------------

    def _opening(self) -> str:
        words = 0
        premise: list[str] = []
        for line in self.story.premise:
            words += len(line.split())
            if premise and words > _OPENING_WORDS:
                break
            premise.append(line)
        return "\n\n".join(
            (
                narration.WELCOMES.draw(self.rng, self._fills),
                " ".join(premise),
                narration.WHO_ARE_YOU.draw(self.rng, self._fills),
            )
        )

    def _question(self) -> str:
        hello = narration.GREETINGS.draw(self.rng, self._fills)
        return f"{hello} {narration.CHARACTER_QUESTIONS.draw(self.rng, self._fills)}".strip()

    # --- pulses ----------------------------------------------------------------------------------

    def nod(self, draw: float, chance: float) -> str:
        """What the group just did, taken up in a sentence; empty when there is nothing to take."""
        relay, fills = self._relay, self._fills
        if self._table.told < 0:
            return narration.BEGINNINGS.draw(self.rng, fills)
        if self._table.relay.startswith("[private]"):
            bank = narration.SHARED_NODS if relay.shared else narration.SECRET_NODS
            return f"{self._choice_taken()} {bank.deal(self.turn, fills)}".strip()
        if self._chosen:
            return " ".join(part for part in (self._choice_taken(), self._asked_too()) if part)
        if relay.question and (passing := self._in_passing()):
            return passing
        if draw >= chance:
            return ""
        part = self._table.group.parts.get(fills.get("name", ""))
        if part and draw < 0.12 * chance:
            return narration.CHARACTER_NODS.deal(self.turn, {**fills, "part": part})
        return self._taken_up()

    def _choice_taken(self) -> str:
        """What the group chose, of what it was offered; empty if it chose nothing."""
        if not self._chosen:
            return ""
        slots = {"clause": self._chosen, "clause_low": uncapitalised(self._chosen)}
        return narration.GROUP_NODS.deal(self.turn, slots)

    def _asked_too(self) -> str:
        return self._in_passing() if self._relay.question else ""

    def _taken_up(self) -> str:
        relay, fills = self._relay, self._fills
        if relay.did and (not relay.clause or self.turn % 3 == 0):
            return narration.NAMED_NODS.deal(self.turn, {"did": relay.did})
        if relay.clause:
            low = uncapitalised(relay.clause)
            slots = {"clause": relay.clause, "clause_low": low}
            return narration.GROUP_NODS.deal(self.turn, slots)
        if "name" in fills:
            return narration.TAKEN_UP.deal(self.turn, {"name": fills["name"]})
        return ""

    def _in_passing(self) -> str:
        answer = answer_to(self._relay.question, self.story, self._fills, self.turn)
        slots = {"answer": answer, "answer_low": uncapitalised(answer)}
        if "name" in self._fills and self._fills["name"] in self._relay.question:
            slots["name"] = self._fills["name"]
        return asides.IN_PASSING.deal(self.turn, slots)

    def pulse(
        self,
        lead: str,
        facts: tuple[str, str],
        extras: Sequence[str],
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
        beat = self.story.beats[index]
        self.told_beat = index + 1
        self._fills = self._slots(beat)
        first = f"{lead} {beat.text}".strip()
        closing = ""
        if choice and not beat.text.endswith("?"):
            closing = beat.choice or narration.CLOSINGS.deal(self.turn, self._fills)
        told = [facts[0], self._colour(beat, index) if colour else "", facts[1], *extras]
        words = sum(len(line.split()) for line in (first, closing, *told))
        second = [*self._padding(beat, words), *told, closing]
        rest = " ".join(dict.fromkeys(line for line in second if line))
        return f"{first}\n\n{rest}" if rest else first

    def _padding(self, beat: Beat, words: int) -> list[str]:
        """Things to see and hear that bring an output of ``words`` to a fair length."""
        lines: list[str] = []
        for extra in range(_MOST_PADDING):
            if words >= _FEW_WORDS:
                break
            line = self._look(beat) if not extra else ""
            line = line or narration.SENSES.deal(self.turn + 3 * extra, self._fills)
            lines.append(line)
            words += len(line.split())
        return lines

    def _colour(self, beat: Beat, index: int) -> str:
        speakers = any(person.speaks for person in beat.people)
        turn = (self._table.group.key + index) % 3
        if speakers and (turn or not beat.place):
            position = self._table.group.key + index
            return speech_in(self.story, index, position, self._fills)
        return self._look(beat) or narration.SENSES.deal(self.turn, self._fills)

    def _look(self, beat: Beat) -> str:
        """A place or device of the beat, described in the guide's words."""
        if beat.place and beat.place.looks and self._is_new(beat):
            slots = {"place": beat.place.name, "look": beat.place.looks[0]}
            return narration.PLACES.deal(self.turn, slots)
        shown = self._here.devices if self._here else ()
        for device in beat.devices:
            if device.looks and device not in shown:
                look = device.looks[self.turn % len(device.looks)]
                return narration.DEVICES.deal(self.turn, {"device": device.name, "look": look})
        return ""

    def _is_new(self, beat: Beat) -> bool:
        return self._here is None or self._here.here is not beat.place

    # --- everything else -------------------------------------------------------------------------

    def segue(self, *, forced: bool) -> str:
        """A way back to the story."""
        if forced:
            return pick(self.rng, asides.FORCED_SEGUES)
        relay, fills = self._table.relay, {**self._fills}
        named = [name for name in self._table.group.names if name in relay]
        fills.pop("name", None)  # what was said is theirs whom the relay names for it, or nobody's
        if named:
            fills["name"] = min(named, key=relay.index)
        return asides.NATURAL_SEGUES.draw(self.rng, fills, heard=self._table.last)

    def returned(self, lead: str) -> str:
        """A return to the scene as it was, without a new beat."""
        if lead in asides.FORCED_SEGUES:
            return f"{lead} {asides.FORCED_REMINDERS.draw(self.rng, self._fills)}"
        return f"{lead} {asides.HOOKS.draw(self.rng, self._fills)}"

    def clarification(self) -> str:
        """An answer, and nothing else."""
        answer = answer_to(self._relay.question, self.story, self._fills, self.turn)
        answer = f"{self._choice_taken()} {answer}".strip()
        return f"{answer} {asides.ANSWER_TAILS.deal(self.turn // 2, self._fills)}"

    def private(self, messages: Sequence[ChatMessage]) -> str:
        """A word to one player alone: the guide's next private moment."""
        said = [
            one.content for one in messages if one.role == "assistant" and "[To " in one.content
        ]
        names = self._table.group.names
        unmet = [one for one in names if not any(f"[To {one} " in text for text in said)]
        self.target = name = pick(self.rng, unmet or names)
        fresh = [text for text in self.story.private if not any(text in one for one in said)]
        text = fresh[0] if fresh else asides.PRIVATE_PLAIN.draw(self.rng, self._fills)
        return f"[To {name} only] {text} {asides.PRIVATE_TAILS.deal(self.turn, self._fills)}"

    def ending(self, lead: str) -> str:
        """The guide's ending and the closing line."""
        self.ended = True
        lead = lead or f"{self._choice_taken()} {asides.ENDINGS.draw(self.rng, self._fills)}"
        ending = " ".join(self.story.ending) or asides.PLAIN_ENDING
        farewell = asides.FAREWELLS.draw(self.rng, self._fills)
        return "\n\n".join(part for part in (f"{lead} {ending}".strip(), farewell, THE_END) if part)

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
            return asides.INDULGENCES.deal(self.turn, {})
        return self._linger()

    def _linger(self) -> str:
        clause = self._chosen or self._relay.clause
        slots = {"clause": clause} if clause else {}
        bank = asides.LINGERS if slots else asides.LINGERS_PLAIN
        return (
            f"{bank.deal(self.turn, slots)} {asides.LINGER_TAILS.deal(self.turn // 2, self._fills)}"
        )

    def _recap(self) -> str:
        told = self.story.beats[max(0, self._table.told - 2) : self._table.told + 1]
        links = ("First", "Then", "And just now")[-len(told) :]
        lines = [
            f"{link} {uncapitalised(ended(clipped(beat.narration[0].split(': ')[0], 16)))}"
            for link, beat in zip(links, told, strict=True)
        ]
        head = asides.RECAP_HEADS[self.turn % len(asides.RECAP_HEADS)]
        tail = asides.RECAP_TAILS.deal(self.turn, self._fills)
        return " ".join(part for part in (head, *lines, self._choice_taken(), tail) if part)


def _counted(number: str) -> dict[str, str]:
    """Slots for how many players there are."""
    everyone = "both of you" if number == "two" else f"all {number} of you"
    return {"count": number, "everyone": everyone if number != "several" else "all of you"}
