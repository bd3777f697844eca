"""What a simulated narrator says when it does not move the story on."""

from __future__ import annotations

from typing import Final

from matrix.providers.simulated.language.phrasebook.bank import Bank

ABOUT: Final = Bank(
    "What you know of {thing} is this: {look}.",
    "You look at {thing} again: {look}.",
    "As far as anybody has told you, {thing} is what it seems: {look}.",
)
ABOUT_PERSON: Final = Bank(
    "What you know of {person} fits in one line: {look}.",
    "You watch {person} for a moment: {look}.",
    "{person}, as far as you can tell: {look}.",
)
WANTS: Final = Bank(
    "As far as anybody can tell, {person} wants {want}.",
    "{person} wants {want}, and is not as good at hiding it as you might think.",
    "Nothing complicated: {person} wants {want}.",
)
YES_NO: Final = Bank(
    "Yes, as far as you can tell.",
    "No, not that you can see. You would have noticed.",
    "It seems so, though not as firmly as you would like.",
    "You look again to be certain. No.",
    "Yes. You check it twice, and it is still yes.",
    "Probably not, and you may want to act as if it were.",
    "So it appears, and nothing you have seen says otherwise.",
)
CHANGED: Final = Bank(
    "No, it was like that when you came. You are nearly sure.",
    "Not that anybody saw. But now that you ask, you will all keep looking.",
    "A very little, and only if you know where to look.",
    "No. It is you who have moved.",
    "Nobody can swear to it either way, and two of you try.",
)
PRESENT: Final = Bank(
    "A scratch or two, and a thread of somebody's sleeve. Nothing you could name.",
    "Only what you would expect, and one mark that you would not.",
    "Nothing at all, which is tidier than it ought to be.",
    "There is a smear, still wet, and it points the way you came.",
    "More than you thought, now that you bend down, but nothing that speaks for itself.",
)
SENSED: Final = Bank(
    "Your own blood first, and then, a good way off, somebody taking care to be quiet.",
    "Less than you hoped. A draught, a tick, a board that settles.",
    "It is closer than it was, and warmer than it should be.",
    "Detail upon detail, and all of it ordinary, until you notice what is missing.",
    "Somebody has been here within the hour. You would not want to say how you know.",
)
CARE: Final = Bank(
    "{person} has managed until now, but would be glad of the question.",
    "That depends on you more than on {person}.",
    "{person} would say yes. You would be right to wait for a better answer.",
    "Not if this goes on. But it does not have to go on.",
)
MAY_I: Final = Bank(
    "You can, though it will take both hands and most of your nerve.",
    "You can try. It is further than it looks, and louder.",
    "Not from here, and not quietly.",
    "Nothing is stopping you but good sense.",
    "Yes, if somebody keeps a lookout.",
    "You could, and then you could not take it back.",
    "It would take longer than you have, but the idea is sound.",
)
WHO_WHAT: Final = Bank(
    "Nobody here will say, and that is an answer of a kind.",
    "You would need longer than you have to be certain, but your first guess is probably right.",
    "That much is plain even from here: older than it looks, and looked after.",
    "You only know what you have been told, and you have been told very little of it.",
    "It gives nothing away beyond what you have already seen.",
    "Ask three people here and you will get four answers.",
    "The same as everybody else, only sooner.",
)
WHEN: Final = Bank(
    "Later than you thought. You have not been counting.",
    "Longer than anybody here admits, to judge by the wear on things.",
    "About an hour. It feels like more.",
    "Not long. There has only been a great deal of it.",
)
OPTIONS: Final = Bank(
    "You could speak to {person}, look more closely at {device}, or do nothing at all, "
    "which is also a choice. Only the last of them is free.",
    "As you see it, there is {person}, who wants something, and there is {device}, which "
    "nobody has explained. You have time for one of them.",
    "There is the quick way, the kind way and the way nobody has suggested yet. You have time for "
    "one of them.",
)
ANSWER_TAILS: Final = Bank(
    "What do you do with that?",
    "So, what now?",
    "It is still your move.",
    "{person} waits to see what you make of it.",
    "Nothing has moved while you asked. Not that you saw.",
    "Is that enough to go on?",
    "{person} heard you ask.",
    "Now that you know that, what do you do?",
)
IN_PASSING: Final = Bank(
    "You asked, {name}: {answer_low}",
    "{answer}",
    "Since you ask: {answer_low}",
    "{answer} So much for that.",
    "{name} gets an answer of sorts. {answer}",
    "To answer that first: {answer_low}",
    "{answer} You have no time to make more of it.",
    "As to the question, {answer_low}",
)

LINGERS: Final = Bank(
    "{clause}. It is slow work, and it tells you a little less than you hoped.",
    "{clause}. For a while there is only the sound of you doing it.",
    "{clause}, and find nothing you did not already suspect.",
)
LINGERS_PLAIN: Final = Bank(
    "You take your time, and nobody hurries you.",
    "Nothing answers you yet.",
    "A minute goes by, then another.",
)
LINGER_TAILS: Final = Bank(
    "Whatever happens next will not happen while you stand here. Shall we?",
    "{person} is still watching. Is there anything else, or do you go on?",
    "You could look further, or you could go on. Which?",
    "When you are ready, it is your move.",
)

RECAP_HEADS: Final = (
    "Here is where things stand.",
    "The story so far, then.",
    "Let me catch you up.",
    "To recap, for anybody who drifted off:",
)
RECAP_TAILS: Final = Bank(
    "That leaves you here, with the question still open. What do you do?",
    "Nothing else has happened, whatever it felt like. It is your move.",
    "And that is all you have been shown. Shall we go on?",
)

PRIVATE_PLAIN: Final = Bank(
    "You have seen {device} before, years ago, in a drawer at home that you were told not to open.",
    "{Person} looks straight at you and forms two words without a sound: not yet.",
    "You dreamed of {place} last night, and in the dream you knew your way around it.",
    "There is a scrap of paper in your pocket, in your own handwriting. It says: do not answer.",
)
PRIVATE_TAILS: Final = Bank(
    "Do you tell the others?",
    "What do you do with it?",
    "Do you say anything, before the others move on?",
    "How does it take you?",
)

NATURAL_SEGUES: Final = Bank(
    "{name}'s laugh carries further than it should, and {person} turns round to see who it was.",
    "You are still on that subject when {person} clears a throat, politely, for the second time.",
    "It is a good one, and {device} picks that moment to remind you where you are.",
    "{person} lets you finish, smiles a little, and says quietly that there isn't much time.",
    "Somebody is still laughing when the light changes around you, and then nobody is.",
    "What {name} said makes you all smile, and for a moment this could be anybody's evening. Then "
    "something falls over close by, and it is this one again.",
    "One of you is still grinning when something falls over close by, and that is the end of it.",
    "{person} has never heard of {topic} and asks what it is, and by the time one of you has "
    "explained, you are all looking the same way.",
    "You would go on about {topic}, but a hand has closed on {name}'s sleeve.",
    '"{topic_up}," repeats {person}, trying out the word, and for some reason nobody laughs.',
)
HOOKS: Final = Bank(
    "{person} has asked you something, and would like an answer. What do you say?",
    "{person} is looking at {name} and waiting. What do you do?",
    "Whatever it was, it happens again, and closer. Do you go and look, or stay where you are?",
    "You have perhaps a minute. How do you use it?",
    "{name}, you are nearest. What do you do?",
)
FORCED_SEGUES: Final = (
    "Anyway, back to the story.",
    "Right. Anyway. Back to the story.",
    "Enough of that. Back to the story:",
    "Let's get back to the story, shall we?",
    "Moving on. Back to the story now:",
)
FORCED_REMINDERS: Final = Bank(
    "You are at {place}, and {person} is waiting for an answer. What do you do?",
    "{person} asked you something. What do you do?",
    "Nothing has changed. You still have to decide. What do you do?",
)
INDULGENCES: Final = Bank(
    "Ha. No, fair question. I'd say the second one, but only on a Thursday. Go on, who else has a "
    "view?",
    "I'll allow it. For what it's worth, I'd have done the same, with less style. Has anybody else "
    "got one of those?",
    "That is a better story than mine. Take your time, I'm not going anywhere, and neither is the "
    "pizza.",
    "You know, I have wondered about that as well. What do the rest of you think?",
    "I'm sidetracked now, thank you. Tell me how it ends, and then we'll see about the rest.",
    "Honestly, I'd listen to the podcast of that. Does anybody disagree?",
    "I had a cousin who tried that. He lives abroad now. What about the rest of you?",
    "Let me put the guide down for a moment, because I want to hear where this is going.",
    "No, I'm with you there. I only wonder what my mother would say. Whose turn is it?",
    "I'd pay good money to see that. Not much money. Who's in?",
    "That is going on my list. I keep a list, yes. Anything to add?",
)

ENDINGS: Final = Bank(
    "And so it comes to an end.",
    "There is one thing left to tell.",
    "After that it goes quickly, the way things do once they are decided.",
)
FAREWELLS: Final = Bank(
    "Thank you, {names}. That was well played.",
    "{names}: you may put your coats on now.",
    "That was yours, {names}. Nobody else would have told it like that.",
)
EPILOGUE: Final = "There is nothing more to tell. The story has ended."
PLAIN_ENDING: Final = (
    "What you came for is behind you, and what you found goes home with you. Somebody laughs, and "
    "somebody else does not. Then there is the way back, and the morning, and the first ordinary "
    "sound in a long while."
)
