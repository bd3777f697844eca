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

THINGS: Final = words(
    "altar anchor anvil apple apron armchair arrow astrolabe axe badge bag ball balloon "
    "balustrade banister bank-note banner barrel barrow basin basket bath beam bell bellows belt "
    "bench bicycle biscuit blackboard blade blanket blind board boat boiler bolt bone book "
    "bookcase bookshelf boot bottle boulder bowl box bracelet branch bread brick bridge briefcase "
    "broom brush bucket buckle bundle buoy bust button cabinet cable cage cake camera candle "
    "candlestick canoe canvas cap cape car card carpet carriage cart casket cauldron chain chair "
    "chalice chalk chandelier chimney chisel cigar clipboard clock coal coat coffer coffin coil "
    "coin collar column compass console contract control cord cork counter crane crank crate "
    "crown crucible crystal cup cupboard curtain cushion dagger desk dial diary dice disc dish "
    "disk doll door doorbell doorknob doorstep doorway drawbridge drawer dress drill drum easel "
    "elevator engine envelope etching fan feather fence fiddle figurine file fire fireplace flag "
    "flagon flagpole flare flask flute folder fork fountain frame fridge furnace fuse gangplank "
    "gate gauge gear generator glass globe glove goblet gown grate gravestone grille guitar "
    "hammer hammock handkerchief handle handrail harness harp harpoon hat hatbox hatch hatchway "
    "headstone hearth helmet hinge hook horn horseshoe hourglass icon inkwell instrument "
    "invitation jacket jar jug keg kettle key keyboard keyhole knife knob knocker ladder lamp "
    "lantern latch leaflet ledger lens letter lever lid lift lighthouse lock locker locket log "
    "logbook loom machine magnet mailbag manuscript map mask mast mat match matchbox medal "
    "megaphone menu microphone mirror mitten monument mosaic mug nail necklace needle net "
    "newspaper notebook oar oven padlock painting pan panel parcel parchment passport peg pen "
    "pencil pendant pendulum phone photograph piano picture pillar pillow pipe pistol pitcher "
    "plank plaque plate plough poker pole portrait poster pot printer projector propeller pulley "
    "pump puppet purse quill quilt rack radio raft rail railing razor record register ribbon ring "
    "robe rock rod rope rowboat rudder rug sack saddle safe sail sail-cloth samovar sandwich "
    "saucer saw scale scarf sceptre scissors screen screw scroll sculpture seal seat shawl shelf "
    "shield shoe shovel shrine shutter sign signpost sink skeleton skull sledge spade spanner "
    "spear spindle spoon stage stair staircase stake stamp statue stick stone stool stove strap "
    "string suitcase switch sword table tablecloth tank tap tape tapestry teacup teapot telegram "
    "telephone telescope tent thermometer thimble thread throne ticket tile tin toast toolbox "
    "torch towel trailer trapdoor tray treasure tree trolley trophy trumpet trunk tureen "
    "typewriter umbrella uniform urn valve vase vault vest violin visor wagon wall wallet wand "
    "wardrobe watch wheel wheelbarrow whistle windlass windmill window windscreen wire wreath "
    "wrench "
)
"""Things that somebody could walk up to and touch. Anything else is talked about by its name."""
