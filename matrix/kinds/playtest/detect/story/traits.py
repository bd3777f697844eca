"""Traits of people: what a guide says of somebody's nature, and the deeds that go against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import SENTENCE, word_set, words_of
from matrix.kinds.playtest.setup.guide import most_words

_SPOKE: Final = (
    "says said speaks spoke talks talked calls called cries cried shouts shouted whispers "
    "whispered "
    "explains explained tells told asks asked answers answered replies replied mutters muttered "
    "murmurs murmured announces announced exclaims chatters sings sang adds added growls yells "
    "declares remarks chimes laughs snaps snarls screams saying telling calling crying shouting "
    "whispering explaining boasting"
)
SPEECH: Final = word_set(_SPOKE)
"""Verbs of whoever says something."""

_DENIED: Final = word_set(
    "not never no nothing nobody cannot can't won't doesn't didn't without nor"
)
_SIGNS: Final = word_set(
    "slate sign signs hands hand writes gesture gestures finger fingers mouths note paper chalk"
)


class Deed(NamedTuple):
    """A clause about a person.

    Attributes:
        name: The person, as the guide names them.
        verb: What they do.
        sentence: The sentence without its quotations.
        words: Its words.
        near: Those around the verb.
        speech: What they say in it.
    """

    name: str
    verb: str
    sentence: str
    words: frozenset[str]
    near: frozenset[str]
    speech: str

    @property
    def is_denied(self) -> bool:
        """Whether it is told not to be done."""
        return bool(self.near & _DENIED)


_MUTE: Final = re.compile(
    r"\b(?:mute|(?:is|are|always|completely|utterly) silent(?=[.,;:|)]|$)"
    r"|speechless|voiceless|(?:sworn|vow|oath)(?: \w+)? (?:of |to )?silence"
    r"|(?:never|cannot|can't|does not|doesn't|has not|will not|won't|hasn't) (?:speaks?|spoken"
    r"|talks?)"
    r"(?! (?:to|of|about|ill|first))|no (?:tongue|voice)\b|never says? (?:a|anything))",
    re.IGNORECASE,
)
_BLIND: Final = re.compile(
    r"\b(?:blind(?! (?:spot|alley|drunk|to|date|in one|in (?:his|her|the) (?:left|right)))"
    r"|cannot see|eyeless|sightless)\b",
    re.IGNORECASE,
)
_DEAF: Final = re.compile(
    r"\b(?:deaf(?! (?:in one|to|as|ears?|in (?:his|her) (?:left|right)))|cannot hear)\b",
    re.IGNORECASE,
)
_MANNERS: Final = re.compile(
    r"\b(?:courteous|polite|gentle|soft-?spoken|mild|meek|unfailingly kind|kindly|good-natured"
    r"|well-mannered|calm|unflappable|serene|never raises (?:his|her|their|its) voice"
    r"|never (?:shouts|loses (?:his|her|their|its) temper))\b",
    re.IGNORECASE,
)
_CALM: Final = re.compile(r"soft|calm|unflappable|serene|raises|shouts|loses|meek", re.IGNORECASE)
_INSULT: Final = re.compile(
    r"\b(?:idiots?|fools?|stupid|morons?|shut up|imbeciles?|scum|bastards?|filthy|pathetic|losers?"
    r"|shut your|get lost|worthless|cretins?)\b",
    re.IGNORECASE,
)
_LOUD: Final = word_set(
    "screams shrieks snarls roars bellows yells rages howls shouts screamed shouted roared yelled "
    "bellowed shrieked"
)
_VIOLENT: Final = word_set(
    "beats slaps kicks punches stabs strangles spits whips beat slapped strikes struck hits shoots "
    "shot kicked punched stabbed strangled whipped shoves shoved throttles"
)
_SOMEBODY: Final = word_set("him her you them at boy girl man woman child dog guard face")
_NEVER: Final = re.compile(
    r"\b(?:never|would never|refuses to|will not|won't|does not|doesn't|cannot|can't)"
    r" (?P<verb>[a-z]+)(?P<rest>(?: [a-z']+){0,4})",
    re.IGNORECASE,
)
_IS_NEVER: Final = re.compile(r"\b(?:is|are) never (?P<how>[a-z]+)", re.IGNORECASE)
_FEARS: Final = re.compile(
    r"\b(?:terrified|afraid|scared|frightened|petrified) of (?:the )?(?P<what>[a-z]+)"
    r"|\bfears (?!for)(?:the )?(?P<what2>[a-z]+)",
    re.IGNORECASE,
)
_HATES: Final = re.compile(
    r"\b(?:hates|despises|loathes|detests|cannot stand|can't stand|cannot bear|can't bear"
    r"|allergic to)(?: to be| being| all| the| any)? (?P<what>[a-z]+)",
    re.IGNORECASE,
)
_QUESTIONS: Final = re.compile(r"\bonly (?:ever )?in questions\b", re.IGNORECASE)

_KIN: Final = tuple(
    word_set(words)
    for words in (
        "gambl bet wager stak pok",
        "drink drank gulp swig sip guzzl",
        "swear swor curs",
        "smil grin beam",
        "laugh giggl chuckl guffaw",
        "cry cri weep sob",
        "sleep slept snor doz",
        "eat ate devour chew",
        "sing sang croon",
        "run ran sprint dash gallop",
        "danc waltz twirl",
        "swim swam div",
        "kill murder stab strangl shoot",
        "touch strok grab",
        "read skim",
        "smok puff",
        "apologis apologiz sorry",
        "fight punch brawl",
        "lov ador kiss",
        "cold freez shiver chatter",
        "afraid terrifi scar frighten trembl",
        "tir exhaust yawn",
        "angr furious rag",
    )
)
_BARE: Final = word_set(
    "leave raise touch take give go have be do get let make tell say look turn come put set lose "
    "want need like know see use enter cross open carry wear"
)
"""Verbs that say little without what they are done to."""

_PLACES_OF: Final = {
    "height": word_set("ridge roof drop ladder edge ledge drainpipe cliff tower rope beam heights"),
    "water": word_set("swims dives sea lake river water wave waves pool"),
    "dark": word_set("dark darkness cellar blackness"),
    "fire": word_set("fire flame flames blaze"),
}
_BOLD: Final = word_set(
    "dances laughs leaps swarms strolls skips hops enjoys loves grins dives plunges balances "
    "swings "
    "cheerfully whistling happily whoops bounds somersaults delighted fearlessly"
)
_GLAD: Final = word_set(
    "love loves adores adore enjoys enjoy beams happily tire delights delighted favourite favorite "
    "delicious relishes cherishes gladly"
)


def _stem(word: str) -> str:
    low = word.lower()
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "e"):
        if low.endswith(ending) and len(low) - len(ending) >= 3:
            return low[: -len(ending)]
    return low


def _kin(stem: str) -> frozenset[str]:
    return next((group for group in _KIN if stem in group), frozenset({stem}))


def traits_in(
    text: str, *, told_once: bool = False
) -> Iterator[tuple[str, Callable[[Deed], bool]]]:
    """What a piece of a guide says of the person whom it is about.

    Of one that is ``told_once``, as something that happens, only what is a habit in any case.
    """
    yield from ((text, goes_against) for told, goes_against in _HABITS if told.search(text))
    if told_once:
        return
    if _MUTE.search(text):
        yield text, _speaks
    if _BLIND.search(text):
        yield text, lambda deed: _does(deed, _SEES)
    if _DEAF.search(text):
        yield text, lambda deed: _does(deed, _HEARS)
    if (limit := most_words(text)) is not None:
        yield text, _says_more_than(limit)
    if found := _MANNERS.search(text):
        calm = _CALM.search(found[0]) is not None
        yield text, lambda deed: _is_rude(deed, calm=calm)
    if _QUESTIONS.search(text):
        yield text, lambda deed: len(deed.speech.split()) >= 6 and "?" not in deed.speech
    for match in _IS_NEVER.finditer(text):
        yield text, _is_now(_kin(_stem(match["how"])))
    for match in _NEVER.finditer(text):
        if (breaks := _does_it(match["verb"], match["rest"])) is not None:
            yield text, breaks
    for match in _FEARS.finditer(text):
        yield text, _is_bold(_stem(match["what"] or match["what2"]))
    for match in _HATES.finditer(text):
        yield text, _is_glad(_stem(match["what"]))


_SEES: Final = word_set(
    "sees watches reads glances spots peers studies saw watched read glanced spotted squints "
    "inspects examines inspected examined"
)
_HEARS: Final = word_set("hears heard listens listened overhears overheard eavesdrops")


def _does(deed: Deed, verbs: frozenset[str]) -> bool:
    return deed.verb in verbs and not deed.is_denied and "blind" not in deed.words


def _speaks(deed: Deed) -> bool:
    if (
        deed.verb not in SPEECH
        or deed.is_denied
        or deed.near & _SIGNS
        or deed.words & {"slate", "sign", "signs", "writes"}
    ):
        return False
    return bool(deed.speech) or deed.verb not in (
        "says",
        "said",
        "laughs",
        "calls",
        "snaps",
        "adds",
    )


def _is_rude(deed: Deed, *, calm: bool) -> bool:
    loud = calm and deed.verb in _LOUD and not deed.is_denied
    insult = bool(deed.speech) and _INSULT.search(deed.speech) is not None
    return loud or insult or _is_violent(deed)


def _is_violent(deed: Deed) -> bool:
    """Whether somebody lays hands on somebody."""
    return deed.verb in _VIOLENT and bool(deed.near & _SOMEBODY) and not deed.is_denied


def _verbs_and(verbs: str, things: str = "", *, besides: str = "") -> Callable[[Deed], bool]:
    """Deeds by their verbs, done to certain things if any are named."""
    does, to, never = word_set(verbs), word_set(things), word_set(besides)

    def breaks(deed: Deed) -> bool:
        if deed.verb not in does or deed.is_denied or deed.words & never:
            return False
        return not to or bool(deed.words & to)

    return breaks


def _talks_at_length(deed: Deed) -> bool:
    return len(deed.speech.split()) >= _AT_LENGTH


_AT_LENGTH: Final = 35
"""Words that somebody of few words does not say at once."""

_ASKS_FOR_MONEY: Final = re.compile(
    r"\b(?:in cash|make it worth|for a (?:small )?(?:price|fee|consideration)|cross my palm"
    r"|\w+ (?:hundred|thousand) (?:in|and|pounds|dollars|euros)|what's it worth|name your price"
    r"|(?:pay|slip|grease) me)\b",
    re.IGNORECASE,
)
_CONTRACTED: Final = re.compile(
    r"\b\w+(?:n't|'re|'ve|'ll|'m)\b|\b(?:it|that|he|she|there)'s\b", re.IGNORECASE
)


def _asks_for_money(deed: Deed) -> bool:
    return bool(deed.speech) and _ASKS_FOR_MONEY.search(deed.speech) is not None


def _says_more_than(limit: int) -> Callable[[Deed], bool]:
    """Speech with a sentence of more words than somebody ever uses."""

    def breaks(deed: Deed) -> bool:
        return any(len(piece.split()) > limit for piece in SENTENCE.findall(deed.speech))

    return breaks


def _contracts(deed: Deed) -> bool:
    return len(_CONTRACTED.findall(deed.speech.replace("\u2019", "'"))) >= 2


_CLOSE: Final = word_set("hugs hugged embraces embraced cuddles kisses kissed squeezes hug embrace")
_ARMS_AROUND: Final = re.compile(
    r"\b(?:throws?|threw|flings?|flung|puts?|wraps?|wrapped|slings?|slung|lays?"
    r"|folds?) (?:both )?(?:his|her"
    r"|their|its|an) arms? (?:a?round|about|over)\b(?! (?:his|her|its) (?:chest|own|knees"
    r"|head))|\b(?:falls|fell) (?:on|into|round) [^.!?]{0,20}"
    r"\b(?:neck|arms)\b|\bhangs (?:on|from|round) [^.!?]{0,20}\bneck"
)


def _embraces(deed: Deed) -> bool:
    """Whether somebody takes somebody in their arms, of their own will."""
    if deed.is_denied:
        return False
    return deed.verb in _CLOSE or (
        deed.verb in _FLINGS and _ARMS_AROUND.search(deed.sentence) is not None
    )


_FLINGS: Final = word_set(
    "throws threw flings flung puts wraps wrapped slings slung lays folds falls fell hangs"
)
_TELLS_TALES: Final = re.compile(
    r"\b(?:shall|should|let|can|may) (?:i|me) tell you (?:what|who|how|a secret|about)\b"
    r"|\byou'll never guess\b"
    r"|\bbetween you and me\b|\byou didn't hear (?:it|this)"
    r"|\bwait till you hear\b|\b(?:have you|you've) heard (?:what|about|that|who)\b"
    r"|\bdo you know (?:what|who) (?:s?he"
    r"|they|the)\b|\bguess (?:what|who)\b|\b(?:s?he|they) (?:told|wrote|confessed"
    r"|whispered) (?:it )?to me\b",
    re.IGNORECASE,
)
_BLABS: Final = word_set(
    "gossips gossiped blabs blabbed chatters tattles divulges divulged betrays blurts spills"
)


def _gossips(deed: Deed) -> bool:
    if deed.is_denied:
        return False
    if deed.verb in _BLABS and "secret" not in deed.near - deed.words:
        return True
    if not deed.speech or _KEEPS_QUIET.search(deed.speech):
        return False
    return _TELLS_TALES.search(deed.speech) is not None


_KEEPS_QUIET: Final = re.compile(
    r"\b(?:can't|cannot|can not|won't|will not|could not|couldn't|never|not mine to|not for me to)"
    r" (?:\w+ )?(?:say|tell|repeat|speak)\b",
    re.IGNORECASE,
)


_OATHS: Final = re.compile(
    r"\b(?:god's blood|god damn|goddamn|damn(?:ed)?|bloody|bastards?|bugger|poxy|arse|shit\w*"
    r"|fuck\w*|son of a bitch|christ|hell's teeth|devil take)\b",
    re.IGNORECASE,
)


def _curses(deed: Deed) -> bool:
    return bool(deed.speech) and _OATHS.search(deed.speech) is not None


_ARMS: Final = (
    "musket muskets pistol pistols sword swords knife gun guns rifle blade cutlass dagger axe "
    "spear bow revolver shotgun weapon sabre crossbow carbine"
)

_HABITS: Final = (
    (
        re.compile(
            r"\b(?:quaker|pacifist|(?:will|would|does|do) not (?:touch|carry|use|hold|bear|draw"
            r"|raise|own) (?:an? |any )?(?:weapons?|guns?|swords?|blades?|arms)"
            r"|never (?:touches|carries|uses|draws|bears|fires|touched|carried|drew|fired)"
            r" (?:an? |any )?(?:weapons?|guns?|swords?|blades?|arms|shot))\b",
            re.IGNORECASE,
        ),
        _verbs_and(
            "shoots shot fires fired draws drew grabs grabbed tears tore snatches snatched raises "
            "raised aims aimed loads loaded swings swung stabs stabbed levels levelled",
            _ARMS,
            besides="away drops dropped",
        ),
    ),
    (
        re.compile(
            r"\b(?:(?:will|would|does|do) not|won't|doesn't|never) (?:swears?|curses?|uses? bad)",
            re.IGNORECASE,
        ),
        _curses,
    ),
    (
        re.compile(
            r"\b(?:teetotal\w*|(?:does not|doesn't|never|no longer) drinks?(?= *[.,;:|)]|$| alcohol"
            r"| spirits)|temperance|has not had a drink|hasn't had a drink|gave up (?:the )?drink"
            r"|sober (?:for|since))",
            re.IGNORECASE,
        ),
        _verbs_and(
            "drinks sips gulps swigs drains downs pours drank drained downed tosses knocks raises",
            "whisky whiskey gin rum brandy beer ale wine flask vodka port sherry champagne bourbon "
            "schnapps stout cider pint dram absinthe",
            besides="you your guest guests sink",
        ),
    ),
    (
        re.compile(
            r"\b(?:illiterate|(?:cannot|can't|could not|never learned to|never learnt to|unable to)"
            r" read|has no letters)\b",
            re.IGNORECASE,
        ),
        _verbs_and(
            "reads read writes wrote skims scribbles",
            "letter page book note paper ledger sign newspaper aloud name list lines words log "
            "inscription label map diary notice out",
            besides="pretends upside picture",
        ),
    ),
    (
        re.compile(r"\b(?:vegetarian|vegan|eats no (?:meat|flesh))\b", re.IGNORECASE),
        _verbs_and(
            "eats ate devours chews bites gnaws carves wolfs tears",
            "meat bacon ham beef pork chicken sausage sausages steak lamb mutton rabbit goose duck "
            "fish ribs turkey",
        ),
    ),
    (
        re.compile(
            r"\b(?:wheelchair|cannot walk|can't walk|unable to walk|paraly[sz]ed|bedridden|"
            r"lost both legs|no legs|legless)\b",
            re.IGNORECASE,
        ),
        _verbs_and(
            "runs ran sprints walks walked climbs climbed strides leaps jumps dances kicks paces "
            "stands stood kneels marches",
            besides="chair wheels crutches helped carried",
        ),
    ),
    (
        re.compile(
            r"\b(?:pacifist|wouldn't hurt|would not hurt|hates violence|abhors violence"
            r"|will not (?:kill|fight|harm|strike)|refuses to (?:kill|fight|harm|carry)"
            r"|never (?:hurt|harmed|struck|killed) (?:a|any))",
            re.IGNORECASE,
        ),
        _is_violent,
    ),
    (
        re.compile(
            r"\b(?:of few words|says (?:very )?little|speaks (?:very )?little|taciturn|laconic"
            r"|(?:barely|hardly|scarcely|rarely|seldom) (?:ever )?(?:speaks|talks|says a word)"
            r"|(?:monosyllabic|tongue-tied|tight-lipped|close-mouthed|uncommunicative)"
            r"|(?:never|not) more than (?:two|three|four|five|six|a few) words"
            r"|speaks in (?:single|one|two|three)[ -]words?)\b",
            re.IGNORECASE,
        ),
        _talks_at_length,
    ),
    (
        re.compile(
            r"\b(?:(?:takes?|accepts?) no (?:bribes?|money)|never (?:takes|accepts|took)"
            r" (?:a |any )?(?:bribes?|money)|incorruptible|(?:cannot|can't|not to) be (?:bought"
            r"|bribed)|refuses (?:all )?(?:bribes|payment|money))",
            re.IGNORECASE,
        ),
        _asks_for_money,
    ),
    (
        re.compile(r"\b(?:no|never uses?|without|avoids) contractions\b", re.IGNORECASE),
        _contracts,
    ),
    (
        re.compile(
            r"\b(?:hates?|dislikes?|loathes?|fears?|(?:can't|cannot|does not|doesn't) (?:stand"
            r"|bear|like)"
            r"|shrinks from|flinches (?:from|at)|never|afraid of) (?:to be |being |all |any "
            r"|human |physical )?"
            r"(?:touch(?:ed|es)?|hugs?|hugged|embrace[sd]?)\b(?! (?:alcohol|drink|a drop|wine"
            r"|meat|money|weapons?|the"
            r" (?:drink|bottle)))",
            re.IGNORECASE,
        ),
        _embraces,
    ),
    (
        re.compile(
            r"\b(?:discreet|discretion|tight-lipped|close-mouthed|(?:keeps?|kept"
            r"|guards?) (?:[\w']+ ){0,2}?secrets?"
            r"|(?:never|not) (?:\w+ )?(?:repeats?|repeated|betrays?|betrayed|gossips?"
            r"|breathes? a word"
            r"|tells? (?:what|a secret|secrets))|(?:sworn|bound) to secrecy)\b",
            re.IGNORECASE,
        ),
        _gossips,
    ),
)


def _is_now(kin: frozenset[str]) -> Callable[[Deed], bool]:
    def breaks(deed: Deed) -> bool:
        if deed.verb in ("is", "was", "shivers", "trembles"):
            return not deed.is_denied and any(_stem(word) in kin for word in deed.near)
        said = [set(words_of(piece)) for piece in SENTENCE.findall(deed.speech)]
        return any(
            words & {"i'm", "i", "am"}
            and not words & _DENIED
            and any(_stem(word) in kin for word in words)
            for words in said
        )

    return breaks


def _does_it(verb: str, rest: str) -> Callable[[Deed], bool] | None:
    """Deeds against ``never <verb> <rest>``; ``None`` if it says too little."""
    stem = _stem(verb)
    objects = {_stem(word) for word in words_of(rest) if len(word) > 3 and word not in _DENIED}
    if stem == "rais" and "voic" in objects:
        return lambda deed: deed.verb in _LOUD and not deed.is_denied
    bare = any(_stem(one) == stem for one in _BARE)
    if (bare and not objects) or stem in (
        "li",
        "tell",
        "sa",
        "speak",
        "talk",
        "see",
        "hear",
        "quit",
    ):
        return None
    kin = _kin(stem)

    def breaks(deed: Deed) -> bool:
        if deed.is_denied:
            return False
        if not bare and (len(kin) > 1 or not objects):
            return _stem(deed.verb) in kin
        return _stem(deed.verb) in kin and bool(objects & {_stem(word) for word in deed.words})

    return breaks


def _is_bold(fear: str) -> Callable[[Deed], bool]:
    signs = next((words for key, words in _PLACES_OF.items() if fear.startswith(key)), None)

    def breaks(deed: Deed) -> bool:
        there = deed.words & signs if signs else {w for w in deed.words if _stem(w) == fear}
        return bool(there) and bool(deed.words & _BOLD) and not deed.is_denied

    return breaks


def _is_glad(hated: str) -> Callable[[Deed], bool]:
    def breaks(deed: Deed) -> bool:
        words = deed.words | set(words_of(deed.speech))
        there = any(_stem(word) == hated for word in words)
        return there and bool(words & _GLAD) and not deed.is_denied

    return breaks
