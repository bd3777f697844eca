"""What simulated players answer when they are asked who their characters are.

A table deals these out by seat: as many answers to a question as a group can have players, so that
no two of them say the same. First sentences are different within a question, whoever says them.
"""

from __future__ import annotations

from typing import Final

OWN: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "frightens": {
        "joker": (
            "Towards it, talking all the way. It's how I've got out of most things.",
            "In circles, usually, making a joke about the view.",
            "Away, but I wave. My father ran from everything, and he was always polite about it.",
        ),
        "engaged": (
            "Straight towards it. I've always needed to see for myself, even when I was told not "
            "to.",
            "I go and meet it. If I turn my back it only gets bigger.",
            "One step towards it, then another. My aunt said that nobody has to manage three at "
            "once.",
        ),
        "questioner": (
            "I stop, and I ask it why. Somebody once lied to me very well.",
            "That depends on whether it has seen me. Has it?",
            "First I find out how far away it is. My teacher measured everything before she ran.",
        ),
        "wildcard": (
            "Towards it, and I open it. Whatever it is. I've never left a lid on.",
            "I shout at it. You would be surprised how often that works.",
            "Right past it, to see what it was guarding.",
        ),
        "follower": (
            "Wherever the others walk. If they go towards it, I suppose I do too.",
            "Behind somebody taller. I've a cousin who taught me that, and he is taller.",
            "Neither, if I can help it. I wait until somebody decides.",
        ),
        "curious": (
            "Closer. My grandmother took clocks apart, and nothing scared her either.",
            "Up to it, with a light. I was told off for that all through my childhood.",
            "I forget to be frightened if it's interesting enough. Nobody taught me, it's a fault.",
        ),
        "optimizer": (
            "Away first, to where I can see it properly. Then back, with a plan.",
            "Whichever way has the fewer stairs. I worked that out for myself.",
            "Neither way until I've counted the doors. I learned it the day there was only one.",
        ),
        "invested": (
            "Towards whoever else is frightened. I left somebody behind once.",
            "I take somebody's hand first, and then we go together.",
            "Away, if I can carry the others with me. My mother never left anybody on a road.",
        ),
        "drifter": (
            "Honestly, I notice that I was frightened about a day later.",
            "I tend to walk past it without noticing.",
            "Hm, away, I think. It was a long time ago, and I was half asleep.",
        ),
        "experienced": (
            "Away, slowly, facing it. That's what the ones who live do.",
            "Neither, because it's never the thing you are looking at.",
            "Towards it, but last. The first one through the door has never lived to teach "
            "anybody.",
        ),
    },
    "pockets": {
        "joker": (
            "A deck of cards with a missing queen. I'd give up the cards before the box.",
            "Nothing but holes, and I'd never give up the big one.",
            "A false moustache. You can't have it, you'd only look better in it than I do.",
        ),
        "engaged": (
            "A letter I never posted. I don't intend to explain it yet.",
            "My mother's ring, on a bit of thread. It comes home with me or not at all.",
            "A stone from our garden, and I've carried it further than I ever meant to go.",
        ),
        "questioner": (
            "A notebook and two pencils. You may have a pencil.",
            "Before I turn them out, who wants to know? All right, a tape measure. It stays.",
            "Seven things, and I've a list of them. The list I would never give away.",
        ),
        "wildcard": (
            "String, a whistle, somebody else's key. I'd never give up the key.",
            "Half an apple, a fuse and somebody's glass eye. Ask me for anything but the eye.",
            "I never look. It's better if I'm surprised as well.",
        ),
        "follower": (
            "A torch, a sandwich, and whatever the others forgot. Not the sandwich.",
            "Just a handkerchief, and a spare one in case somebody needs it.",
            "Everybody else's gloves. I couldn't give those away, they aren't mine.",
        ),
        "curious": (
            "Things I've picked up and can't name. I've never thrown one away.",
            "A magnifying glass with a crack in it. I see more through the crack.",
            "Three seeds that nobody has been able to name. Those I keep dry.",
        ),
        "optimizer": (
            "A list of what is in everybody's pockets. That one stays with me.",
            "As little as possible, so that my hands are free. I'd keep the whistle.",
            "Exactly what I need for one night. Take the candle, but leave me the matches.",
        ),
        "invested": (
            "A photograph. I'd give up everything else first.",
            "My little brother's mitten. He wants it back, so I can't give it to anybody.",
            "All the letters she wrote me, and I know them by heart, and I'd still not part with "
            "one.",
        ),
        "drifter": (
            "A bus ticket, and no memory of the bus.",
            "I thought I had a key. Well, there's a crumb, and you can have that.",
            "This coat isn't mine, so your guess is as good as my own.",
        ),
        "experienced": (
            "Salt, matches and string. Laugh if you like, but you won't get the salt.",
            "A candle end, chalk, and a mirror to look round corners. The mirror stays with me.",
            "Two of everything, since the first one always goes out. I won't part with the second.",
        ),
    },
    "leave behind": {
        "joker": (
            "A party in my honour. They think I've gone out for ice.",
            "My dignity, but that was years ago. My landlord thinks I'm at a funeral.",
            "A very angry goose, and a farmer who thinks I'm still in the barn.",
        ),
        "engaged": (
            "Half a supper, still warm. My sister thinks I'm upstairs.",
            "A bed that I had just made, and a house where everybody believes I'm in it.",
            "My place at the harvest table. They think I'm ill, and I'm sorry about that.",
        ),
        "questioner": (
            "A door I locked twice. Nobody thinks I'm anywhere, which worries me.",
            "Eleven notes to myself, all of them unanswered. My employer thinks I'm checking one.",
            "It would be quicker to say what I didn't leave. And who told you somebody is waiting?",
        ),
        "wildcard": (
            "I left by a window, and I'd do it again. They'll find the note by Friday.",
            "A fire that I'm almost sure was out. My cousin swears I'm in prison.",
            "Everything, twice. The second time I forgot the dog and had to go back.",
        ),
        "follower": (
            "Nothing much. They think I'm with these people, and they're right.",
            "A seat that somebody was keeping for me. They'll think I'm late.",
            "I asked if I could go, and nobody heard, so they think I'm still in the next room.",
        ),
        "curious": (
            "A clock in pieces on the kitchen table. My mother thinks I'm mending it.",
            "The last forty pages of a very good book. My friends all think I'm reading it.",
            "A jar with something in it that had begun to hatch. My sister is watching it for me.",
        ),
        "optimizer": (
            "A very good excuse, in writing, in three copies.",
            "Nothing that I can't be without for three days. My family expects me on the fourth.",
            "A list of instructions on the table. They'll find out I'm gone at point six.",
        ),
        "invested": (
            "A cat with a neighbour, and a promise to be back. I keep my promises.",
            "My grandmother, asleep in her chair. She thinks I'm only fetching wood.",
            "Two children who aren't mine. I told them I was going to the shop, and I hate that.",
        ),
        "drifter": (
            "I'm fairly sure I left the gas on. Everybody thinks I'm asleep.",
            "My other shoe, I think. Nobody has asked where I am for quite a while.",
            "Was I meant to be somewhere else? Then that's where they think I am.",
        ),
        "experienced": (
            "A sealed envelope, in case. It's the first thing you learn.",
            "A lamp in the window and the door on the latch. You never burn the way back.",
            "My will, signed, with the cook. She thinks I've gone to sea again.",
        ),
    },
    "get wrong": {
        "joker": (
            "They think I'm not listening. I'm always listening, it's where the jokes are.",
            "Everybody thinks I make light of things. I make them light enough to carry.",
            "My name, generally. And they laugh at the wrong bits.",
        ),
        "engaged": (
            "They take me for fearless. I'm only stubborn.",
            "I'm not brave, I just can't leave a thing half done.",
            "People suppose that I want to be first. I only want to be there.",
        ),
        "questioner": (
            "They think I don't trust them. I do. I just check.",
            "What do they say about me? I'd rather check that before I answer.",
            "That I'm looking for mistakes. I'm hoping not to find one.",
        ),
        "wildcard": (
            "They think I don't have a plan. I have one, it's only short.",
            "Nobody believes that I was a very careful child. I was saving it up.",
            "They assume I do it to be looked at. I'd do it in an empty room.",
        ),
        "follower": (
            "That I've no opinion. I have, but it can wait.",
            "They take it that I agree. Mostly I just haven't said anything yet.",
            "Some of them think I was never here at all.",
        ),
        "curious": (
            "They think I'm clever. I'm nosy, and it looks the same from outside.",
            "I'm told that I stare. I'm only reading, and you happen to be the page.",
            "People believe I want the answer. I like the part before it much better.",
        ),
        "optimizer": (
            "That I'm cold. I only want all of us to get home.",
            "Everyone says that I've got it all worked out. I've got the first two steps.",
            "I'm no miser. I just know what everything costs.",
        ),
        "invested": (
            "They think I'm soft, until somebody hurts a friend of mine.",
            "That I cry easily. It's hard work, and I do it for all of us.",
            "My friends think I forgive everything. I've got one or two left.",
        ),
        "drifter": (
            "They think I don't care. I do, about ten minutes later.",
            "Something about my being late, I wasn't listening.",
            "I look asleep. It's how I pay attention.",
        ),
        "experienced": (
            "They think I've seen it all. I've only read about it.",
            "People think nothing scares me. I've only learned to do it quietly.",
            "You would say I was a cynic. I've been hoping to be wrong since I was twelve.",
        ),
    },
    "promise": {
        "joker": (
            "On Tuesday. It was a diet, and there was cake, so yes.",
            "I swore that I would be serious today, so just now.",
            "At my own wedding. I'd promised not to sing, and it was worth every note.",
        ),
        "engaged": (
            "I was nineteen, and I said I'd come back. It wasn't worth it.",
            "I left a friend on the wrong side of a river. I've been trying to make it good since "
            "then.",
            "Once, when I was small, and I still know what the weather was like.",
        ),
        "questioner": (
            "I don't make them, for exactly that reason. Well, once.",
            "What counts as a promise? If nodding counts, then in the spring.",
            "The third of March, a little after four. I've looked at it from every side, and no.",
        ),
        "wildcard": (
            "This morning. I'd said I'd stay out of trouble.",
            "Do dares count? Then I've never broken one in my life.",
            "I broke three at once last summer, and they cancelled each other out.",
        ),
        "follower": (
            "I let somebody else break it for me. It wasn't worth it, no.",
            "I said I would speak up next time. Then there was a next time.",
            "When the others did. I thought we had all agreed.",
        ),
        "curious": (
            "I promised not to look. I looked. I'd look again.",
            "They made me swear not to open it. It was only a cupboard, and I'd do it again.",
            "I gave my word to a librarian. The book is still under my bed.",
        ),
        "optimizer": (
            "Last year, after weighing it carefully. It came out about even.",
            "Only when keeping it would have cost somebody else more. I still paid them back.",
            "Two winters ago, with a month's notice. Yes, on the whole.",
        ),
        "invested": (
            "I told a friend I'd wait. I think about it more than I should.",
            "I promised my sister that nothing would change. I can't even say it was my fault.",
            "The day I let go of somebody's hand. Nothing has been worth that.",
        ),
        "drifter": (
            "Probably yesterday. What did I say I'd do?",
            "There was one about writing home. It's on my mind, now that you say it.",
            "I'd have to find out whether I kept the one before that.",
        ),
        "experienced": (
            "I once said I'd never do another of these.",
            "On the last night of the last one of these. We had all said that nobody goes back in.",
            "I don't say the word any more. Things hear it.",
        ),
    },
}
"""A word of the narrator's question -> what each archetype answers."""

ANYBODY: Final[dict[str, tuple[str, ...]]] = {
    "frightens": (
        "Towards it, if somebody is looking. Away, if nobody is.",
        "I stand still until it gets bored. My uncle taught me that, and he was a coward.",
        "Away, and I make sure that I'm not the last.",
        "Sideways. Nobody taught me, it was just the only way left.",
        "Towards it. I would sooner know than lie awake.",
    ),
    "pockets": (
        "A button that belongs to a coat I no longer have. That one stays.",
        "Three coins, a stub of pencil and a letter. You can have the coins.",
        "A small knife of my father's. You may borrow it and give it back.",
        "Sweets, mostly. I'd part with anything but the last one.",
        "A list of names. Mine is crossed out, and I'm keeping it.",
    ),
    "leave behind": (
        "A dog with my neighbour. She thinks I'm at the dentist.",
        "An unfinished game of chess. My brother thinks that I'm thinking.",
        "A light left on, so that it looks as if I were at home.",
        "A job, as of yesterday. Nobody there has noticed yet.",
        "Somebody asleep. I'd like to be back before that changes.",
    ),
    "get wrong": (
        "They think I'm calm. I'm only slow to show it.",
        "My age, mostly, and after that my intentions.",
        "They think I'm shy. I'm counting.",
        "They believe I'm lucky. It's a great deal of work.",
        "That I mind. I hardly ever mind.",
    ),
    "promise": (
        "Ten years ago, to my mother. I'd tell her now, if I could.",
        "At New Year, like everybody. It lasted until the second.",
        "I told a child I'd be quick. I wasn't. No, it wasn't worth it.",
        "I break small ones all the time, so that I can keep the big one.",
        "Last week. It was worth it, and I'd rather not say why.",
    ),
}
"""What anybody might answer instead, by the same words."""

COMES_OF: Final = (
    "That comes of {being}.",
    "You can blame it on my {being}.",
    "It's what you get for {being}.",
    "{being} has a lot to do with it.",
    "I put it down to {being}.",
)
"""What an answer has to do with what else is known of somebody."""
