"""How simulated spokespeople put what their friends said. ``{option}`` reads after "we"."""

from __future__ import annotations

from typing import Final

from matrix.providers.simulated.language.phrasebook.bank import Bank

DECIDED: Final[dict[str, Bank]] = {
    "joker": Bank(
        "We {option}. History will judge us.",
        "We {option}. It was a majority of the brave.",
        "We {option}. Don't tell our families.",
    ),
    "engaged": Bank("We {option}.", "We {option}. All of us.", "We {option}, and we mean it."),
    "questioner": Bank(
        "We {option}. It leaves the fewest questions open.",
        "We {option}. To be exact, we do it slowly.",
        "We {option}.",
    ),
    "wildcard": Bank("We {option}. Obviously.", "We {option}. Quickly.", "We {option}."),
    "follower": Bank("We {option}.", "We {option}. If that's all right.", "I think we {option}."),
    "curious": Bank("We {option}. We want to see it properly.", "We {option}."),
    "optimizer": Bank(
        "We {option}. I'd have argued for it anyway.",
        "We {option}, on balance.",
        "We {option}. We can undo it later.",
        "We {option}.",
    ),
    "invested": Bank(
        "We {option}. It mattered to everybody.", "We {option}.", "We {option}. For their sake."
    ),
    "drifter": Bank("We {option}. I think that's what we said.", "We {option}."),
    "experienced": Bank(
        "We {option}. You know how the other one ends.", "We {option}.", "We {option}. Lights on."
    ),
}

ALL_DO: Final = Bank("{act}", "{act}", "{act}", "{act} It was {name}'s idea.")
"""What one of them does, told as what all of them do."""

TOGETHER: Final = Bank(
    "We stay together and take it slowly.",
    "We start with {thing}.",
    "We go on, all of us.",
    "We keep close and keep looking.",
    "We take a good look at {thing} before anything else.",
    "We go ahead.",
    "We do what we can with the time we have.",
    "We talk it over for a moment and go on.",
    "We leave {thing} alone for now and go on.",
    "We spread out a little.",
)

ASKS: Final = Bank(
    '{name} asks: "{question}"',
    '{name} wants to know: "{question}"',
    'One question from {name}: "{question}"',
    '{name} says: "{question}"',
)
OWN_ASKS: Final = Bank('And from me: "{question}"', 'My own question: "{question}"')

TANGENTS: Final = Bank(
    'We got sidetracked, because {name} said: "{said}"',
    'This is off topic, but {name} says: "{said}"',
    'Sorry, we\'ve wandered off. {name}: "{said}"',
    'We\'re busy with something else at the moment. {name} says: "{said}"',
    '{name} has the floor, and we can\'t get it back: "{said}"',
)
OWN_TANGENTS: Final = Bank(
    'We got sidetracked, and it was me: "{said}"',
    'Before we do anything, this is me: "{said}"',
)
ALSO: Final = Bank(
    "After that we {option}.",
    "But yes, we {option}.",
    "Oh, and we {option}.",
)

DISSENT: Final = Bank(
    "{name} would sooner {option}, but lost the vote.",
    "{name} was for the other thing.",
)

COLOUR: Final[dict[str, tuple[str, ...]]] = {
    "joker": (
        "Nobody has fainted yet.",
        "I'm told that this is a plan.",
        "Please be gentle with us.",
        "There was applause. It was mine.",
        "We'd like it noted that we were charming about it.",
    ),
    "engaged": (
        "We're ready.",
        "We keep our eyes open.",
        "We don't say a word while we do it.",
        "We stay in sight of each other.",
        "We're all a little out of breath.",
    ),
    "questioner": (
        "That is, unless we've misunderstood where we're standing.",
        "We'd like to be sure of it before we go further.",
        "At least, that is how I understood it.",
        "We've checked it twice.",
    ),
    "wildcard": (
        "It seemed dull to do it the normal way.",
        "We'll see what breaks.",
        "Nobody told us not to.",
        "It may not be wise, but it'll be quick.",
    ),
    "follower": ("That's about it.", "More or less.", "I think everybody's happy with that."),
    "curious": (
        "We look at everything on the way.",
        "It's too interesting not to.",
        "We want to know what it's for.",
        "Somebody ought to write this down.",
    ),
    "optimizer": (
        "We keep a way out open while we do it.",
        "If it goes wrong we turn straight back.",
        "That costs us least, I think.",
        "We did consider the alternatives.",
    ),
    "invested": (
        "We're worried about all of them, to be honest.",
        "We try not to hurt anybody.",
        "We'd like everybody to come out of this well.",
        "It matters more than we expected.",
    ),
    "drifter": (
        "I may have missed a bit.",
        "There was something else as well, but it's gone.",
        "I think that's everybody.",
    ),
    "experienced": (
        "We've read enough of these to be careful.",
        "Nobody goes off alone.",
        "We know how this usually goes.",
        "We leave the lights on.",
    ),
}
