"""What simulated players say when they leave the story, by archetype.

Every line has a word of the table in it (see ``OFF_STORY`` in :mod:`..cues`), as such talk has.
"""

from __future__ import annotations

from typing import Final

from matrix.providers.simulated.language.phrasebook.bank import Bank

_CHAT = (
    "Sorry, completely off topic, but did anybody feed the parking meter?",
    "Before I forget: are we still on for the board game on Sunday?",
    "Random question, sorry: does anybody else smell the pizza from downstairs?",
    "Side note: my phone says there's a storm coming, so nobody gets to leave early.",
    "Before I forget: whose umbrella is that in the hall?",
)

TANGENT: Final[dict[str, Bank]] = {
    "joker": Bank(
        "This is just like the pub quiz last Thursday, when I said 'squid' and nobody believed me.",
        "Random question: has anybody ordered the pizza yet? I can't be brave on crisps alone.",
        "I got sidetracked, because {person} sounds exactly like my boss. He sells printers.",
        "Off topic, but in real life none of us would get past the car park. Admit it.",
        "Okay, but if they made a film of this, who plays me? Be honest. Be flattering.",
        "I have a fish pun and I'm going to hold the whole table hostage until you hear it.",
        "Random question: if we get out of this, whose turn is it to do the crisps?",
        "My boss would love it here. Nobody knows what's going on and everybody has a title.",
        "Side note: in my theory every bad evening starts with somebody reading out a letter.",
        "Before I forget: the pub quiz team needs a fifth, and none of you looked away.",
    ),
    "wildcard": Bank(
        "Total side note: in the video game I'm playing you can pet {thing}. Every single one.",
        "Random question: could we just leave and open a bakery? I have a business plan.",
        "Off topic, but I bet there's a speedrun of this where you skip straight to the end.",
        "Off topic, but what if we swap characters for one round? I'd like to be an aunt.",
        "I looked it up on my phone just now, and you can buy a real one of those for forty quid.",
        "Random question: who here has actually eaten a candle? Just me?",
        "Side note: I once got banned from a board game cafe for reading the rules too literally.",
        "Completely unrelated, but I can hold my breath for two minutes. Time me.",
    ),
    "curious": Bank(
        "This is unrelated, but I saw a whole video essay on lighthouses, and did you know they "
        "used to float the lamp on mercury?",
        "Side note: I watched a documentary about places like this, three hours, mostly drains. "
        "Ask me anything about drains.",
        "Off topic for a second: do you think people back then even had our idea of a weekend?",
        "I went down a rabbit hole about this last night, there's a podcast with nine episodes. "
        "Has anybody else heard it?",
        "Random question: who knows where the word 'clue' comes from? It's a ball of yarn.",
        "Side note: there's a documentary about knots that I'd recommend to literally anybody.",
        "This is unrelated, but how do they get a whole podcast out of bells?",
    ),
    "optimizer": Bank(
        "Can we pause the story? I'd like to talk about how we decide things as a group. I made a "
        "spreadsheet once.",
        "Side note: in the strategy game we play on Tuesdays you'd never move before turn ten. "
        "Let me explain why.",
        "Off topic, but if we rotate who talks first we'd save about a third of the evening. I "
        "did the sums.",
        "Before we do anything: has anybody got a pen? I want to draw a decision tree on the "
        "pizza box.",
        "Side note: my board game group has a rule for exactly this, with tokens.",
        "Random question: would we be faster if each of us took notes on one thing only?",
        "Off topic, but I've ranked all our evenings in a spreadsheet, and this one is climbing.",
    ),
    "drifter": Bank(
        "Sorry, my phone buzzed. It's work. It's always work. What would you all do about work?",
        "Is anybody else this tired, or is it only me? I've had the week from hell in real life.",
        "Completely unrelated, but did I leave my umbrella at yours last time?",
        "Sorry, I was miles away, wondering whether my cat likes me.",
        "Random question: what day is it? I've been on trains since Monday.",
        "Before I forget: somebody owes me for the pizza. Or I owe somebody.",
        "Side note: I haven't slept properly since the neighbours got that parrot.",
    ),
    "other": Bank(*_CHAT),
}

CONTAGION: Final = Bank(
    "No, go on, I know it's off topic. I want to hear the end of that.",
    "Ha. Off topic, but my sister has a story exactly like that, with a goat in it.",
    "I'm with you on that one, and I'd like to add crisps to the pizza order.",
    "Wait, I've got a random question too: one big gull, or forty small ones?",
    "That reminds me of the quiz night with the ham. You remember the ham.",
    "We're so sidetracked, and honestly I'm enjoying it.",
)

TANGENT_SHARE: Final[dict[str, float]] = {
    "joker": 0.45,
    "wildcard": 0.45,
    "curious": 0.35,
    "optimizer": 0.35,
    "drifter": 0.35,
}
"""Share of an archetype's quirks that leave the story; archetypes not named here: 0.04."""
