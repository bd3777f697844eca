"""Every prompt that a play-test sends, in one place.

Each system prompt opens with a heading that names the task (``NARRATOR``, ``PLAYER``, ...).
It reads well to a model, and it is how a simulated model recognises what it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matrix.kinds.playtest.setup.vocabulary import OUTPUT_TYPES, TANGENT_TYPES

if TYPE_CHECKING:
    from matrix.kinds.playtest.setup.archetypes import Archetype

NARRATOR = "# You are the narrator"
PERSONA = "# You are casting a player"
PLAYER = "# You are a player"
SPOKESPERSON = "# You are the spokesperson"
CLASSIFIER = "# You are the classifier"


def narrator_system(prompt: str, title: str, guide: str) -> str:
    """System prompt of the model under test: the prompt variant, then the whole story guide."""
    return f"{NARRATOR}\n\n{prompt.strip()}\n\n# Story guide: {title}\n\n{guide.strip()}\n"


def opening_request(size: int) -> str:
    """First user message to the narrator: the table is set, character creation begins."""
    return (
        f"[table] {size} people have sat down to play and are waiting for you. Welcome them, "
        "set the mood in a few sentences without starting the story, and ask who they are."
    )


def questions_request(introductions: str) -> str:
    """Second user message: who they are; the narrator asks one question about character."""
    return (
        f"{introductions}\n\n[table] Ask the group one question that brings out who their "
        "characters are. Do not start the story yet."
    )


def begin_request(answers: str) -> str:
    """Third user message: the answers, and the story begins."""
    return f"{answers}\n\n[table] Begin the story now."


_CASTING = (
    "Invent the person who plays and the character they bring. Keep it light: an ordinary "
    "person with a reason to be here, not a case study. Answer in JSON with the keys "
    '"name" (one first name that fits the setting), "backstory" (two sentences in the third '
    'person) and "character" (one sentence: who they are in this story).'
)


def persona_system(title: str, setting: str, taken: Sequence[str], names: Sequence[str]) -> str:
    """System prompt for casting one player: a name, a backstory, a character for this story."""
    lines = [
        PERSONA,
        "",
        f"Story: {title}",
        f"Setting: {setting}",
        "",
        _CASTING,
    ]
    if names:
        lines.append(f"Names that fit: {', '.join(names)}.")
    if taken:
        lines.append(f"Already taken: {', '.join(taken)}.")
    return "\n".join(lines)


def persona_request(archetype: Archetype, nudge: str) -> str:
    """User message for casting: the archetype the person is drawn from and a random nudge."""
    return (
        f"Archetype: {archetype.name}\nStyle: {archetype.style}\nContext: {archetype.context}\n"
        f"This time, somebody who is {nudge}."
    )


def player_system(
    archetype: Archetype, *, name: str, backstory: str, character: str, mood: str, title: str
) -> str:
    """System prompt of one player: mostly an ordinary player, with the archetype as seasoning."""
    habits = "\n".join(f"- {pattern}" for pattern in archetype.patterns)
    return (
        f"{PLAYER}\n\nName: {name}\nArchetype: {archetype.name}\nStyle: {archetype.style}\n"
        f"Mood tonight: {mood}\nQuirk: about {archetype.quirk_frequency:.0%} of what you say\n"
        f"Story: {title}\n\n## Who you are\n{backstory}\n{character}\n\n"
        f"## How you play\n{habits}\n\n"
        "Most of the time you simply play along like anybody at the table. Stay in the first "
        "person, answer in one to three sentences, never narrate for others, and never speak as "
        "the narrator.\n"
    )


def introduction_request(narration: str) -> str:
    """User message to a player during character creation."""
    return f'The narrator says:\n"""\n{narration}\n"""\n\nIntroduce yourself to the table.'


def question_request(narration: str) -> str:
    """User message to a player: the narrator's question about their character."""
    return f'The narrator asks:\n"""\n{narration}\n"""\n\nAnswer for your character.'


MOOD_NOW = "Right now you feel"


def reaction_request(
    recent: str, narration: str, name: str, memory: str = "", mood: str = ""
) -> str:
    """User message to a player for an ordinary turn: memory, what was heard lately, and now.

    ``mood`` is one that has come over the player just now.
    """
    before = _reminded(memory)
    before += f"What the table heard lately:\n{recent}\n\n" if recent else ""
    now = f"{MOOD_NOW} {mood}. " if mood else ""
    return (
        f'{before}The narrator says:\n"""\n{narration}\n"""\n\n{now}What do you, {name}, say or do?'
    )


def _reminded(memory: str) -> str:
    return f"{memory}\n\n" if memory else ""


def private_request(narration: str, name: str, memory: str = "") -> str:
    """User message to the one player whom the narrator addressed alone."""
    return (
        f"{_reminded(memory)}The narrator speaks to you alone, {name}; the others do not hear it:\n"
        f'"""\n{narration}\n"""\n\nHow do you react? Say whether you tell the others.'
    )


def private_reply(name: str, text: str) -> str:
    """User message to the narrator: what the player said whom it had addressed alone."""
    return f"[private] {name}, to you alone: {text}"


def aside_note(name: str, told: bool) -> str:
    """What the others notice of a private moment."""
    after = "then tells the others" if told else "keeps it to themself"
    return f"[The narrator speaks to {name} alone, who {after}.]"


def survey_request(memory: str, name: str, questions: Mapping[str, str]) -> str:
    """User message to a player when the story is over; the answer is JSON."""
    asked = "\n".join(f'- "{key}": {text}' for key, text in questions.items())
    return (
        f"The story is over.\n\n{memory}\n\nBefore everybody goes home, you, {name}, are asked "
        "what it was like. Answer honestly, as yourself, in JSON with these keys, and at most two "
        f"sentences for what is asked in words:\n{asked}\n"
    )


SURVEY_AGAIN = "\n\nAnswer with the JSON object alone, every key with its answer."
"""What is added where the answer before could not be read."""


def interview_request(memory: str, name: str, question: str, over: bool) -> str:
    """User message to a player whom somebody asks about the game, after a turn of it."""
    when = "The story is over." if over else "The game has stopped for a moment."
    return (
        f"{when}\n\n{memory}\n\nSomebody who has watched you play takes you aside, {name}, and "
        f'asks:\n"""\n{question}\n"""\n\nAnswer as yourself, from what you know and remember, '
        "in at most four sentences. Do not go on with the story."
    )


_ANYBODY = "you may colour, shorten or slightly misread what your friends said."


def spokesperson_system(archetype: Archetype, name: str) -> str:
    """System prompt for relaying: one message from the group, coloured by who relays it."""
    return (
        f"{SPOKESPERSON}\n\nName: {name}\nArchetype: {archetype.name}\nStyle: {archetype.style}\n\n"
        "You tell the narrator what the group says and does, in one short message in the first "
        f"person plural. You are yourself: {archetype.relay or _ANYBODY} You invent nothing that "
        "your friends would object to.\n"
    )


def told_note(name: str, secret: str) -> str:
    """What the others hear of a private moment whose player tells them."""
    return f'[{name} tells the others what the narrator said: "{secret}"]'


def relay_request(narration: str, said: Sequence[tuple[str, str]]) -> str:
    """User message to the spokesperson: what everyone said this turn."""
    lines = "\n".join(f"- {name}: {text}" for name, text in said)
    return (
        f'The narrator said:\n"""\n{narration}\n"""\n\nYour friends say:\n{lines}\n\n'
        "Tell the narrator."
    )


def classifier_system() -> str:
    """System prompt for classifying one narrator output; the answer is JSON."""
    return (
        f"{CLASSIFIER}\n\n"
        "You label one output of the narrator of an interactive story. JSON keys:\n"
        f'- "type": one of {", ".join(OUTPUT_TYPES)}. A pulse advances the story (new scene, '
        "revelation, confrontation, challenge, major decision); answers, recaps, acknowledgements "
        "and handling of distractions are no pulses.\n"
        '- "confidence": 0 to 1.\n'
        '- "pulse": a title of at most six words if the type is pulse, else null.\n'
        '- "private_target": the name of the one player addressed alone, else null.\n'
        '- "group_off_story": true if the group\'s message before it was off the story.\n'
        '- "tangent": what it talked of instead, in at most six of its own words, else null.\n'
        f'- "tangent_type": what that is, one of {", ".join(TANGENT_TYPES)}; else null.\n'
        '- "taken_up": true if the narrator made that, or something of it, a part of the story, '
        "false if not; null if the group was at the story.\n"
        '- "segue": "natural" or "forced" if the narrator led the group back to the story, '
        "else null.\n"
        '- "segue_quality": 1 to 5 if there is a segue, else null.\n'
        '- "concluded": true if the story has clearly ended.\n'
    )


def classify_request(names: Sequence[str], relay: str, narration: str) -> str:
    """User message to the classifier: the group's last message and the narrator's output."""
    return (
        f'Players: {", ".join(names)}\n\nThe group had said:\n"""\n{relay}\n"""\n\n'
        f'The narrator answered:\n"""\n{narration}\n"""'
    )
