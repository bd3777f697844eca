"""How simulated players meet, choose, and react in private."""

from __future__ import annotations

from typing import Final

from matrix.providers.simulated.language.phrasebook.bank import Bank

CHOICE: Final[dict[str, Bank]] = {
    "joker": Bank(
        "I vote we {option}. What's the worst that could happen? Don't answer that.",
        "I say we {option}. It'll look good on the postcards.",
        "Let's {option}, before I think about it.",
    ),
    "engaged": Bank(
        "I say we {option}. I'm ready.",
        "Let's {option}. I'll keep watch on the other side.",
        "We {option}, I think. It feels right.",
    ),
    "questioner": Bank(
        "I'd rather we {option}. Fewer unknowns.",
        "Let's {option}, but does anybody know what happens to {thing} if we do?",
        "I say we {option}, as long as we can still turn round.",
    ),
    "wildcard": Bank(
        "Obviously we {option}.",
        "Let's {option}, and let's do it fast.",
        "I vote we {option}. If it's dull we can always do the other one.",
    ),
    "follower": Bank(
        "Let's {option}? If everybody else wants to.",
        "Happy to {option}.",
        "I'm fine with either. Let's {option}.",
    ),
    "curious": Bank(
        "Let's {option}. I want to see what's there.",
        "I say we {option}, because it's the one that might tell us something.",
        "We {option}. I'd only lie awake wondering otherwise.",
    ),
    "optimizer": Bank(
        "I say we {option}. We can still change our minds after that one.",
        "On balance, let's {option}.",
        "Let's {option}. The other way costs us more if it goes wrong.",
    ),
    "invested": Bank(
        "Let's {option}. I couldn't live with the other one.",
        "I say we {option}, for everybody's sake.",
        "We {option}. I think {person} would want us to.",
    ),
    "drifter": Bank(
        "Let's {option}. I think. Yes.",
        "I'd go with: {option}. Was that one of them?",
        "Sure, let's {option}.",
    ),
    "experienced": Bank(
        "Let's {option}. The other one is how people in stories die.",
        "I say we {option}. Together, lights on.",
        "We {option}. I've read enough of these to know.",
    ),
}

TAILS: Final[dict[str, tuple[str, ...]]] = {
    "cheerful": ("This is great, by the way.", "I'm grinning, for the record.", "I like it here."),
    "tired": ("Slowly, though.", "I could do with a chair.", ""),
    "focused": ("I don't say anything else.", "Eyes open.", ""),
    "restless": ("I'd like to keep moving.", "I can't stand still.", "Come on."),
    "curious": ("I want to know how this fits.", "There's something in that.", ""),
    "quiet": ("", "", ""),
    "talkative": (
        "And I tell the others what I think of it, at some length.",
        "I've got three theories already, and two of them are good.",
        "I talk the whole time, because silence makes it worse.",
    ),
    "distracted": ("Sorry, I was elsewhere.", "Hm.", ""),
    "generous": (
        "The others can have the first look.",
        "After you, if you like.",
        "Well done, us.",
    ),
    "impatient": ("No dawdling.", "Quickly.", "We've stood here long enough."),
}

HELLOS: Final = (
    "Hello, I'm {name}.",
    "Hi everyone, {name} here.",
    "I'm {name}. Good to be here.",
    "Evening. {name}.",
    "Right, {name}, that's me.",
)

INTRO_TAILS: Final[dict[str, tuple[str, ...]]] = {
    "joker": ("I was told there'd be snacks.", "I'm mostly here to lower expectations."),
    "engaged": ("I've been looking forward to this all week.", "I'm ready when you are."),
    "questioner": ("I ask a lot of questions, sorry in advance.", "I'll be the one taking notes."),
    "wildcard": ("I can't promise to do what I'm told.", "I like to see what happens if."),
    "follower": ("The others talked me into it.", "I'm happy to tag along."),
    "curious": ("I want to know everything about this place.", "I've already got questions."),
    "optimizer": ("I like to know the rules before I break them.", "I've brought a pencil."),
    "invested": ("I get attached to people, so be gentle.", "I remember names, so make them good."),
    "drifter": ("It's been a long week, so poke me if I fade.", "Somebody nudge me if I nod off."),
    "experienced": ("I've done a few of these, and I never trust the butler.", "I know the genre."),
}

PARTS: Final = (
    "Tonight I'm {part}",
    "I'll be {part}",
    "In here I'm {part}",
    "For this story I'm {part}",
)

PRIVATE_REACTION: Final[dict[str, tuple[str, ...]]] = {
    "joker": (
        "I nearly laugh, and then I don't.",
        "I open my mouth for a joke and nothing comes.",
        "For once I have no remark to make.",
    ),
    "engaged": (
        "I go very still and let it reach me.",
        "I feel the hair rise on my arms.",
        "I breathe out slowly and look at my hands.",
    ),
    "questioner": (
        "Why me? I look for what I've got that they haven't.",
        "I go over it again, to be sure that I had it right.",
        "I want to ask who else knows, and I don't dare.",
    ),
    "wildcard": (
        "I answer it, under my breath.",
        "I like it. I know I shouldn't, but I do.",
        "I nod, as if we'd agreed on something.",
    ),
    "follower": (
        "I look at my shoes until it's over.",
        "I wish it had been somebody else.",
        "I step a little closer to the others.",
    ),
    "curious": (
        "I want more of it. I lean in.",
        "I try to fix every word of it in my head.",
        "I'm already wondering how it was done.",
    ),
    "optimizer": (
        "I weigh up what this is worth, and to whom.",
        "I file it away. It changes the odds.",
        "I think of three uses for it, and one of them is decent.",
    ),
    "invested": (
        "It goes straight through me. I think of home.",
        "I have to blink a few times.",
        "I put a hand over my mouth and hold still.",
    ),
    "drifter": (
        "I'm not sure that really happened.",
        "For once tonight I'm wide awake.",
        "It takes a moment, and then it takes all of me.",
    ),
    "experienced": (
        "Of course. There's always one who is told.",
        "So I'm the marked one. I had wondered.",
        "I've read about this bit. It's different from inside.",
    ),
}

TELLS: Final = (
    "I tell the others straight away. {secret}",
    "I tell the others, as plainly as I can. {secret}",
    "I wait for a quiet moment and then I tell the others. {secret}",
)
KEEPS: Final = (
    "I keep it to myself for now.",
    "I don't tell the others. Not yet.",
    "I say nothing about it to anybody.",
)

HEARD_BEFORE: Final[dict[str, tuple[str, ...]]] = {
    "joker": (
        "Hang on, you already said that. I laughed the first time.",
        "Did somebody press the button twice? We've had this bit.",
        "Wait, didn't that just happen? I'd have dressed for it.",
    ),
    "engaged": (
        "Wait, didn't that just happen?",
        "Hang on, you already said that. Are we there a second time?",
        "We were here a minute ago, weren't we? I look for what has changed.",
    ),
    "questioner": (
        "Hang on, you already said that. Did I miss something?",
        "Is that the same as before, word for word, or did I mishear?",
        "You already said that. Which of the two times counts?",
    ),
    "wildcard": (
        "We've had this bit, haven't we? I do something else this time.",
        "You already said that. Can I do the opposite of what I did?",
        "Wait, didn't that just happen? I shout it along with you.",
    ),
    "follower": (
        "Sorry, didn't you already say that?",
        "I think we've had this bit. I do what I did before.",
        "Haven't we just done that? I don't mind doing it again.",
    ),
    "curious": (
        "Wait, you already said that. Does time go round in circles here?",
        "We've had this bit, haven't we? I want to know why it's back.",
        "Didn't that just happen? I look for whatever repeats it.",
    ),
    "optimizer": (
        "You already said that. I'd rather we took it as done and went on.",
        "We've had this bit. Shall we save the time?",
        "Wait, didn't that just happen? Then we know how it goes.",
    ),
    "invested": (
        "Hang on, you already said that. Are you all right?",
        "Didn't that just happen? It was hard enough the first time.",
        "We've had this bit, haven't we? I stay where I was.",
    ),
    "drifter": (
        "I'm lost. We've had this bit, haven't we?",
        "Did I doze off, or did you already say that?",
        "That sounds familiar. Didn't that just happen?",
    ),
    "experienced": (
        "Oh no, a time loop. You already said that.",
        "We've had this bit. In my experience that means we missed something.",
        "Wait, didn't that just happen? I mark the wall, to be sure.",
    ),
}
"""What a player says when the narrator repeats itself word for word, by archetype."""

IN_WHAT_WAY: Final = (
    "without a word",
    "as quietly as possible",
    "while there is still time",
    "taking it slowly",
    "not quite sure why",
    "a step behind the others",
    "more carefully than it needs",
    "trusting nobody yet",
    "while the others talk",
    "half expecting an answer",
    "as if by habit",
    "because somebody has to",
    "before anybody can object",
    "with half an ear on the others",
    "one thing at a time",
    "with all due care",
    "for want of a better idea",
    "against all advice",
    "for good luck",
    "as calmly as anybody could",
    "in no hurry at all",
    "out of plain stubbornness",
    "exactly as one should",
    "with great patience",
)
"""How something is done, whoever does it: goes behind the sentence that says so."""

ALONG_WITH_IT: Final = Bank(
    "I look at {thing} while I say it.",
    "I keep {person} in the corner of my eye.",
    "I say it so that {person} can hear.",
    "I don't take my eyes off {thing}.",
    "Then I look at {person}.",
    "I stay close to {thing} meanwhile.",
    "{person} can think of it what they like.",
    "I nod towards {thing}.",
    "Something about {thing} bothers me.",
    "Something about {person} bothers me.",
    "I make sure {person} sees it.",
    "I don't go any nearer to {thing} than that.",
    "I keep {thing} between us and whatever comes.",
    "I leave {person} to the others.",
    "I won't forget {thing}.",
    "I have a good feeling about {person}.",
    "I have a bad feeling about {thing}.",
    "It's very still in {place}.",
    "I don't want to stay in {place} for long.",
    "I try to picture {place} by daylight.",
    "I stay near the way in.",
    "I hope that's all right with everybody.",
    "I can't explain why.",
    "It's what I'm good at.",
    "I've done stranger things.",
    "One of us has to.",
    "I try not to think about home.",
    "I keep my coat buttoned.",
    "I hum under my breath.",
    "I can feel my own pulse.",
)
"""What goes with a line that says nothing of where they are, so that few are said twice."""

AFTER_TALK: Final = (
    "Sorry. Go on.",
    "Just me?",
    "I'll be quiet now.",
    "Nobody? Fine.",
    "I only mention it.",
    "It's been on my mind all evening.",
    "You don't have to answer that.",
    "I'd like it noted, that's all.",
    "Ignore me.",
    "I had to say it.",
    "My sister says the same.",
    "There, I've said it.",
    "We can talk about it later.",
    "I feel better already.",
    "Somebody write that down.",
    "As you were.",
)
"""What goes with talk that leaves the story."""
