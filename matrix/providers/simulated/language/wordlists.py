"""Word lists that simulated models read and write by."""

from __future__ import annotations

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


OPENERS: Final = words(
    "Nine Ten Eleven Twelve Four Five Six Seven Eight Short Close Any Either Neither Both Now "
    "Once Even Still Beyond Between Above Below Outside Through With Without Counted Held "
    "Roped Water Turned Clearing Read Put Afterwards Left Right By To Whatever Because Since "
    "Until Very Well Some Most Let I First Last Sorry My Its Were Was Is Are Could Would "
    "Should Can May Might Must Will Shall Of Or Anyway Enough Moving Back Story Thank Welcome "
    "Remember Good Light Green Do Does How But And For Then It's You're Somewhere Being "
    "Halfway Wait Okay Tied Told Asked Seen THE END The A An You Your There It This That "
    "These Those In On At From Under Behind Inside Nobody Somebody Something Nothing "
    "Everything Every Each One Two Three When While As We Our What Who Whether If All No Not "
    "Let's They Their He She His Her Yes Probably Only Less Later Longer About Ask Detail "
    "More Look So Nobody's Somebody's Across Along After Before Against Over Up Down Far Half "
    "Here"
)
"""Words that may open a sentence with a capital and are no names."""

TITLES: Final = words(
    "Inspector Countess Count Captain Lord Lady Queen King Duke Dame Sir Doctor Professor "
    "Father Mother Mister Miss Madame Brother Sister Aunt Uncle Widow"
)
"""What stands before a person's name."""

PLACE_WORDS: Final = words(
    "Car Van Room Hall Inn House Bridge Dock Walk Cellar Gallery Tower Road Station Street "
    "Hut Kitchen Kitchens Office Loft Chapel Dam Summit Terrace Pier Rock Island Bay Harbour "
    "Ladder Shoulder Slot Spring Terminus Vestibule Causeway Schoolhouse Doors Platform "
    "Compartment Spoke Ring Press Tanks Lake Sound Valley Mountain Forest Garden Orchard "
    "Square Market Church Theatre Hotel Farm Mill Court Palace Castle Gate Wall Deck Stone "
    "Mail Path Trail Park Ferry Train Lane Yard Terminal Field Wood River Window"
)
"""Words in the names of places."""

NO_THING: Final = words(
    "detective thief maker steward clerk warden guard porter passenger captain cook child boy "
    "girl doctor guide warder page director inspector widow soloist conductor wear "
    "bereavement apology below above late early under over near way moment time times same "
    "last first only rest others other group end thing things kind one minute minutes hour "
    "hours day night second seconds morning evening answer question choice world story while "
    "bit lot little few most least side left right middle case matter point sort number edge "
    "top bottom front back breath word words name names year years week whole half part "
    "people person men women man woman truth reason idea sense plan more next subject talk "
    "joke thought party best worst width mood sound smell space length tip lip once yet count "
    "custom shape lost are was were is has look company debt instinct air audience silence "
    "noise light dark wind cold size line rhythm theft lie lies price cure chance law order "
    "help use meantime distance beginning ending past future present fact facts search note "
    "hurry insurance gratitude dead living pulse shouting talking verdict honour pleasure "
    "effort mistake surprise habit manner voice tone laugh smile nod shrug ground sky weather "
    "rain snow fog room floor dawn dusk noon midnight sunset sunrise supper breakfast off out "
    "away two three four five six seven eight nine ten hand hands palm thigh knee knees face "
    "shoulder arm arms eye eyes head feet foot height edges nose drop newborn steps step "
    "cloth yards days ways figure lap mouth chest neck hair heart mind hat and or but there "
    "then here it he she they you who this that nobody somebody anybody everybody longer "
    "further closer quickest kindest flooding evidence money work pair dozen hundred thousand"
)
"""Nouns (and words taken for nouns) that nobody can pick up or look at."""
