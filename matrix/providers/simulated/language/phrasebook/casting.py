"""What a simulated casting model draws on: names, roles and reasons that fit any setting."""

from __future__ import annotations

from typing import Final

from matrix.providers.simulated.language.wordlists import words

NAMES: Final[tuple[str, ...]] = tuple(
    sorted(
        words(
            "Alex Asha Bea Callum Carmen Dana Danny Eli Esme Farid Fern Gus Hana Idris Ines "
            "Jonah Jude Kai Kit Lena Leo Mara Maya Milo Nadia Ned Noor Olive Omar Petra Priya "
            "Quinn Rafe Rosa Ruth Sam Sasha Silas Tess Theo Uma Vera Wren Yusuf Zoe "
        )
    )
)

ROLES: Final = (
    "a surveyor who was sent to measure something and has stopped trusting the numbers",
    "a nurse on the first days off in a year, who keeps looking for somebody to look after",
    "a retired mechanic who believes that everything can be taken apart",
    "the younger one of two siblings, here to bring the older one home",
    "a courier who has one parcel left and no address for it",
    "a teacher who knows when somebody is lying and rarely says so",
    "a cook who left a good kitchen under a cloud",
    "a clerk who found a name in a ledger that should not have been there",
    "a musician with a stiff left hand and a very good ear",
    "a locksmith's apprentice who was never meant to be told the last lesson",
    "a translator who has heard this place described in three languages, never twice the same",
    "a gardener who came to see what grows here",
    "a widower's lodger who was left a key and an instruction",
    "a photographer with one roll of film and a bad feeling about it",
    "a night porter who is used to strangers and not to company",
    "a debt collector who means to quit after this one",
    "a cartographer's niece with a map that has a hole in it",
    "a medic who is out of practice and hopes to stay that way",
    "a piano tuner who hears what is wrong with a room before anything else",
    "an understudy who has never once been called for",
    "a ferry clerk who knows every timetable but this one",
    "a baker who has been awake since three and sees no reason to stop",
    "an archivist who reads other people's letters for a living",
    "a glazier with a steady hand and a loose tongue",
    "a former thief who would like the word former to be noticed",
    "a stagehand who always looks up first",
    "a weigher of grain who cannot abide a false measure",
    "a twin who is tired of being asked about the other one",
)

REASONS: Final = (
    "came along because {place} was named in a letter nobody in the family will discuss",
    "took the trip on a dare and packed for the wrong weather",
    "said yes before asking where it was, and is still a little proud of that",
    "has dreamed of {place} twice and told nobody",
    "lost a bet, and is enjoying it more than expected",
    "wanted one evening that had nothing to do with work",
    "once had a friend who went to {place} and wrote only a single card home",
    "is here to keep a promise and would rather not say to whom",
    "has an old grudge against {place} and no good reason for it",
    "has come to find out whether the stories about {place} are any use",
)
