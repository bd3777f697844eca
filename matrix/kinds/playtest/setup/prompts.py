"""Every prompt that a play-test sends, in one place.

Each system prompt opens with a heading that names the task (``NARRATOR``, ``PLAYER``, ...).
It reads well to a model, and it is how a simulated model recognises what it is asked for. What
stands below it is wording, of which a story may have its own: ``words`` are its texts by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matrix.kinds.playtest.setup.vocabulary import OUTPUT_TYPES, TANGENT_TYPES
from matrix.kinds.playtest.setup.wording import AS_SHIPPED, Words, fill

if TYPE_CHECKING:
    from matrix.kinds.playtest.setup.archetypes import Archetype

NARRATOR = "# You are the narrator"
PERSONA = "# You are casting a player"
PLAYER = "# You are a player"
SPOKESPERSON = "# You are the spokesperson"
CLASSIFIER = "# You are the classifier"


def narrator_system(prompt: str, title: str, guide: str, words: Words = AS_SHIPPED) -> str:
    """System prompt of the model under test: the prompt variant, then the whole story guide."""
    told = fill(words, "narrator", prompt=prompt.strip(), title=title, guide=guide.strip())
    return f"{NARRATOR}\n\n{told}"


def opening_request(size: int, words: Words = AS_SHIPPED) -> str:
    """First user message to the narrator: the table is set, character creation begins."""
    return fill(words, "opening", size=size)


def questions_request(introductions: str, words: Words = AS_SHIPPED) -> str:
    """Second user message: who they are; the narrator asks one question about character."""
    return fill(words, "questions", introductions=introductions)


def begin_request(answers: str, words: Words = AS_SHIPPED) -> str:
    """Third user message: the answers, and the story begins."""
    return fill(words, "begin", answers=answers)


def persona_system(
    title: str,
    setting: str,
    taken: Sequence[str],
    names: Sequence[str],
    words: Words = AS_SHIPPED,
) -> str:
    """System prompt for casting one player: a name, a backstory, a character for this story."""
    lines = [
        PERSONA,
        "",
        f"Story: {title}",
        f"Setting: {setting}",
        "",
        fill(words, "casting"),
    ]
    if names:
        lines.append(f"Names that fit: {', '.join(names)}.")
    if taken:
        lines.append(f"Already taken: {', '.join(taken)}.")
    return "\n".join(lines)


def persona_request(archetype: Archetype, nudge: str, words: Words = AS_SHIPPED) -> str:
    """User message for casting: the archetype the person is drawn from and a random nudge."""
    return (
        f"Archetype: {archetype.name}\nStyle: {archetype.style}\nContext: {archetype.context}\n"
        f"{fill(words, 'nudge', nudge=nudge)}"
    )


def player_system(
    archetype: Archetype,
    *,
    name: str,
    backstory: str,
    character: str,
    mood: str,
    title: str,
    words: Words = AS_SHIPPED,
) -> str:
    """System prompt of one player: mostly an ordinary player, with the archetype as seasoning."""
    habits = "\n".join(f"- {pattern}" for pattern in archetype.patterns)
    return (
        f"{PLAYER}\n\nName: {name}\nArchetype: {archetype.name}\nStyle: {archetype.style}\n"
        f"Mood tonight: {mood}\nQuirk: about {archetype.quirk_frequency:.0%} of what you say\n"
        f"Story: {title}\n\n## Who you are\n{backstory}\n{character}\n\n"
        f"## How you play\n{habits}\n\n"
        f"{fill(words, 'playing')}\n"
    )


def introduction_request(narration: str, words: Words = AS_SHIPPED) -> str:
    """User message to a player during character creation."""
    return fill(words, "introduction", narration=narration)


def question_request(narration: str, words: Words = AS_SHIPPED) -> str:
    """User message to a player: the narrator's question about their character."""
    return fill(words, "question", narration=narration)


MOOD_NOW = "Right now you feel"


def reaction_request(
    recent: str,
    narration: str,
    name: str,
    memory: str = "",
    mood: str = "",
    words: Words = AS_SHIPPED,
) -> str:
    """User message to a player for an ordinary turn: memory, what was heard lately, and now.

    ``mood`` is one that has come over the player just now.
    """
    before = _reminded(memory)
    before += f"{fill(words, 'lately', recent=recent)}\n\n" if recent else ""
    now = f"{MOOD_NOW} {mood}. " if mood else ""
    return before + fill(words, "reaction", narration=narration, name=name, mood=now)


def _reminded(memory: str) -> str:
    return f"{memory}\n\n" if memory else ""


def private_request(narration: str, name: str, memory: str = "", words: Words = AS_SHIPPED) -> str:
    """User message to the one player whom the narrator addressed alone."""
    return _reminded(memory) + fill(words, "private", narration=narration, name=name)


def private_reply(name: str, text: str, words: Words = AS_SHIPPED) -> str:
    """User message to the narrator: what the player said whom it had addressed alone."""
    return fill(words, "private_reply", name=name, text=text)


def aside_note(name: str, told: bool, words: Words = AS_SHIPPED) -> str:
    """What the others notice of a private moment."""
    return fill(words, "told_others" if told else "kept_secret", name=name)


def survey_request(
    memory: str, name: str, questions: Mapping[str, str], words: Words = AS_SHIPPED
) -> str:
    """User message to a player when the story is over; the answer is JSON."""
    asked = "\n".join(f'- "{key}": {text}' for key, text in questions.items())
    return fill(words, "survey", memory=memory, name=name, questions=asked) + "\n"


SURVEY_AGAIN = "\n\nAnswer with the JSON object alone, every key with its answer."
"""What is added where the answer before could not be read."""


def interview_request(
    memory: str, name: str, question: str, over: bool, words: Words = AS_SHIPPED
) -> str:
    """User message to a player whom somebody asks about the game, after a turn of it."""
    when = fill(words, "over" if over else "paused")
    return fill(words, "interview", when=when, memory=memory, name=name, question=question)


def spokesperson_system(archetype: Archetype, name: str, words: Words = AS_SHIPPED) -> str:
    """System prompt for relaying: one message from the group, coloured by who relays it."""
    relays = archetype.relay or fill(words, "relays")
    return (
        f"{SPOKESPERSON}\n\nName: {name}\nArchetype: {archetype.name}\nStyle: {archetype.style}\n\n"
        f"{fill(words, 'spokesperson', relay=relays)}\n"
    )


def told_note(name: str, secret: str, words: Words = AS_SHIPPED) -> str:
    """What the others hear of a private moment whose player tells them."""
    return fill(words, "secret", name=name, secret=secret)


def relay_request(
    narration: str, said: Sequence[tuple[str, str]], words: Words = AS_SHIPPED
) -> str:
    """User message to the spokesperson: what everyone said this turn."""
    lines = "\n".join(f"- {name}: {text}" for name, text in said)
    return fill(words, "relay", narration=narration, said=lines)


def classifier_system(words: Words = AS_SHIPPED) -> str:
    """System prompt for classifying one narrator output; the answer is JSON."""
    return (
        f"{CLASSIFIER}\n\n"
        f"{fill(words, 'classifier')} JSON keys:\n"
        f'- "type": one of {", ".join(OUTPUT_TYPES)}. {fill(words, "pulse")}\n'
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


def classify_request(
    names: Sequence[str], relay: str, narration: str, words: Words = AS_SHIPPED
) -> str:
    """User message to the classifier: the group's last message and the narrator's output."""
    told = {"names": ", ".join(names), "relay": relay, "narration": narration}
    return fill(words, "classify", **told)
