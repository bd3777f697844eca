"""What a simulated narrator says around the words of the guide.

Slots: ``{clause}`` is what the group did, in the second person and without an end mark; ``{did}``
what one player did, in the third; ``{name}`` and ``{names}`` are players, ``{count}`` their number
in words and ``{everyone}`` all of them; ``{place}``, ``{device}``, ``{person}`` and ``{other}``
come from the guide, with their articles; ``{look}`` describes one of them.
"""

from __future__ import annotations

from typing import Final

from matrix.providers.simulated.language.phrasebook.bank import Bank

WELCOMES: Final = Bank(
    "Welcome, {everyone}. Pull your chairs in a little.",
    "Good evening, {count} of you and one of me. That will do nicely.",
    "There you are. I count {count}, which is the right number to begin with.",
    "Come in, {everyone}, and leave the rest of the day outside.",
)
WHO_ARE_YOU: Final = Bank(
    "Before anything begins, tell me who you are: a name, and a line about who you'll be tonight.",
    "We don't start yet. First I'd like to know who is sitting here. What are your names, and who "
    "will you be?",
    "But first things first. Who are you, and what brings each of you to a story like this?",
)
GREETINGS: Final = Bank(
    "Good to meet you, {names}.",
    "{names}. I'll remember that.",
    "Welcome, {names}. You'll do nicely.",
    "So that's who you are: {names}.",
)
CHARACTER_QUESTIONS: Final = Bank(
    "One question before we set out. When something frightens you, do you walk towards it or away "
    "from it, and who taught you that?",
    "One thing I want to know. What is in your pockets tonight, and which of those things would "
    "you never give away?",
    "Tell me this first: what did you leave behind to be here, and who thinks you are somewhere "
    "else?",
    "One question, and take your time over it. What do people always get wrong about you?",
    "Let me ask you one thing. When was the last time you broke a promise, and was it worth it?",
)
BEGINNINGS: Final = Bank(
    "Then let us begin.",
    "Good. Remember what you said, because I will.",
    "That will do. Here is where it starts.",
    "Thank you, {names}. Now it begins.",
)

GROUP_NODS: Final = Bank(
    "{clause}.",
    "{clause}, and nobody stops you.",
    "{clause}. It takes longer than it should.",
    "{clause}, and for now that is enough.",
    "{clause}. It works, more or less.",
    "So {clause_low}.",
    "{clause}, and you do it well, considering.",
    "{clause}. Nothing goes wrong, which feels like a debt.",
    "{clause}, which surprises at least one of you.",
    "{clause}. Afterwards nobody can say whose idea it was.",
    "{clause}. It is louder than you meant it to be.",
)
NAMED_NODS: Final = Bank(
    "{did}, and for a moment nobody else moves.",
    "{did}. The rest of you give it a minute.",
    "{did}. It is a small thing, but it changes the air a little.",
    "{did}; it is the right instinct, or at least a brave one.",
    "{did}. You all feel better for it, briefly.",
    "{did}, and that settles the matter.",
    "{did}. The rest of you are glad of it.",
)
TAKEN_UP: Final = Bank(
    "{name} has a point, and all of you know it.",
    "You look to {name}, who shrugs and nods.",
    "{name} breaks the silence first, and then you are moving.",
    "It is {name} who notices the change before anybody else does.",
    "{name} says what the rest of you are thinking.",
)

CHARACTER_NODS: Final = Bank(
    "{name} is {part}, after all, and has seen stranger things.",
    "This wants {part}, and the rest of you look at {name}.",
    "Being {part} has to be good for something, and {name} sees it first.",
    "You can tell that {name} is {part} by the way the others make room.",
)
SECRET_NODS: Final = Bank(
    "{name} is quiet for a while, and the rest of you notice.",
    "Something has changed in {name}'s face. Nobody asks.",
    "{name} looks away first.",
)
SHARED_NODS: Final = Bank(
    "{name} tells you what happened, and it sounds worse aloud.",
    "You hear it from {name}, all of it, and for a moment nobody has anything to say.",
    "{name} says it plainly, and you find that you believe it.",
)

PAYOFFS: Final = Bank(
    'And now it matters, what {name} was told alone: "{secret}"',
    'So that is what it was for. "{secret}" {name} has known it for a while.',
    '"{secret}" It was meant for {name} alone, and now it is meant for all of you.',
)

PLACES: Final = Bank(
    "{Place}: {look}.",
    "All around you is {place}: {look}.",
    "You will remember {place}: {look}.",
    "There is no mistaking {place}: {look}.",
    "This, then, is {place}: {look}.",
)
DEVICES: Final = Bank(
    "Your eye goes back to {device}: {look}.",
    "Nobody has forgotten {device}: {look}.",
    "It is a good moment to think of {device}: {look}.",
    "And there, in the middle of it, is {device}: {look}.",
)
SENSES: Final = Bank(
    "For the space of three breaths there is no sound at all.",
    "Somebody's stomach growls, and nobody owns up to it.",
    "The light changes a little, though nothing has crossed it.",
    "Your own footsteps sound too loud.",
    "It is quiet enough to hear {name} breathing.",
    "Something creaks, and takes its time about it.",
    "It is colder than it was a minute ago, and nobody says so.",
    "Far off, a bell or something like a bell sounds once and is not repeated.",
    "There is a smell here that you know and cannot name.",
    "Time seems to have slowed down a little, or else you have speeded up.",
    "You notice your hands, and that you don't know where to put them.",
)
FACTS: Final[tuple[tuple[str, str, str], ...]] = (
    ("", "The door behind you is locked.", "The door behind you is unlocked."),
    ("", "The way back is clear.", "The way back is blocked."),
    ("device", "{Device} is intact.", "{Device} is broken."),
    ("place", "{Place} is empty.", "{Place} is crowded."),
)
"""What a pulse may state (of a slot, or of nothing) and the opposite that contradicts it."""

SPEECH: Final = Bank(
    "Well? I can't do it for you.",
    "I shouldn't be telling you this.",
    "You'll want to be quick.",
    "Don't look at me. I only said what I saw.",
    "There's a right way to do this, and then there's the way we have time for.",
    "{name}, is it? Then you tell me.",
    "Ask {other}, if you don't believe me.",
    "I've said too much, or not enough.",
    "Better you than {other}.",
    "You have an honest face, {name}. It's almost a pity.",
    "If anyone asks, I was never here.",
    "Whatever you decide, decide it together.",
    "That's all I know. Most of it, anyway.",
    "I thought you'd be taller.",
    "You won't hear that from {other}.",
    "Mind what you promise.",
    "Is that a yes?",
    "I'm not asking for my own sake.",
    "It was simpler before you came. I don't say better.",
    "{name}, you were about to say something.",
)
WANTS: Final = Bank(
    "All I want is {want}.",
    "I'll tell you what I want: {want}.",
    "You know what I want. {want_up}.",
)
CLOSINGS: Final = Bank(
    "What do you do?",
    "How do you want to do this?",
    "Who goes first?",
    "What is it to be?",
    "{name}, they are all looking at you. What now?",
    "Which will it be?",
    "Do you trust {person}, or keep what you know to yourselves?",
    "Nobody will decide this for you. What do you say?",
    "Do you ask {person} outright, or wait and see?",
    "What do you do with that?",
    "Which of you says it out loud?",
    "There is a little time, but only a little. What do you do?",
    "Do you take a closer look at {device}, or leave it alone?",
    "So, what do you say?",
    "Do you stay together, or send one of you ahead?",
    "{person} is waiting. What do you do?",
    "And what does {name} make of it?",
    "Do you act now, or watch a little longer?",
)

STRANGERS: Final[tuple[str, ...]] = (
    "Barnabas Thorne",
    "Griselda Pellow",
    "Lucan Reeve",
    "Isolde Farrow",
    "Ferdinand Crake",
    "Ottoline Marrable",
    "Jasper Quillfeather",
    "Wilhelm Oster",
)
STRANGER_LINES: Final = Bank(
    "A stranger called {stranger} steps in from the side as if expected, and starts giving orders.",
    "That is when {stranger} arrives, whom none of you has heard of, with a trunk and a grievance.",
    "At your elbow stands {stranger}, who claims to have been here all along.",
)
GENERIC_BEATS: Final = (
    "Something that was still begins to move, and it is coming your way.",
    "You find a sign that somebody was here before you, and that they left in a hurry.",
    "What you took for a way out turns out to lead further in.",
    "You understand, all of you at once, what this was about from the start.",
    "There is a price for going on, and now you learn what it is.",
    "It ends where it began, and this time you are the ones who decide.",
)
"""Beats for guides that are too short to make a story of."""
