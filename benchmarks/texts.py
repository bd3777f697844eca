"""``python -m benchmarks.texts``: how well the text of simulated play-tests reads, as counts.

python -m benchmarks.texts                  all built-in stories and two guides in other habits
python -m benchmarks.texts --per-cell 4     fewer sessions
python -m benchmarks.texts --examples 5     some of what is counted, word for word
python -m benchmarks.texts --run FOLDER     of a run that was played already

What is right is decided by lists in ``guides/words.yaml``, which people wrote while they read the
guides, and by the position of words; nothing here is shared with what writes the text.

* *broken*: an article after which none of three words, before a mark, preposition or conjunction,
  is a noun by the list ("closer to the ago"); two listed names run together; somebody, or what
  nobody can touch, handled as a thing; a thing spoken to. What is said in quotes is left out.
* *repeats*: a reaction that somebody else, or the same player, gave before in the session.
* *agreement*: a verb that does not go with I, we, you, they or a player's name; the narrator's
  "you" with "our" or "us"; the spokesperson's "we" with "I" or "my" in the same sentence.
* *acknowledged*: a choice that was relayed ("We ...") has most of its words in what the narrator
  says next, unless that is an aside or an answer to talk about other things.
* *content*: who tells the others a secret says three words of it or more.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import yaml

GUIDES: Final = Path(__file__).parent / "guides"
_SPEC: Final = """\
version: 1
name: texts
kind: playtest
scenarios: ["*"]
factors: {prompt: [baseline]}
per_cell: %d
limits: {cost_usd: 1000}
"""


def _words(text: str) -> list[str]:
    return text.split()


_ARTICLE: Final = re.compile(r"\b(?:the|an?) (?!little\b)(?P<after>[^.,;:!?\"()]*)", re.IGNORECASE)
_NO_MORE: Final = frozenset(
    _words(
        "of in on at by to and for with from about until that is was like before after or but as "
        "into over without who if while when because so than behind beside can will would has what"
    )
)
"""Words at which a phrase has ended, whatever stood before them."""
_LONGEST: Final = 3
_NAMES: Final = re.compile(r"\b[A-Z][\w'-]+(?: (?:of (?:the )?)?[A-Z][\w'-]+)+")
_QUOTED: Final = re.compile(r'"[^"]*"')
_HANDLED: Final = re.compile(
    r"\b(?:touch|poke|knock on|tap on|move closer to|smell|steady|move round|walk round|turn over"
    r"|one hand on|a hand on|my thumb over|crouch beside|marks on|deal with|look round)(?:es|s)?"
    r" (?P<who>(?:the (?:[a-z]+(?:ed|y|d) )?)?[\w'-]+(?: [A-Z][\w'-]+)*)"
)
_SPOKEN_TO: Final = re.compile(
    r"\b(?:ask|tell|follow|wave at|nod to|wait for|make room for|a handshake|the truth to)s?"
    r" (?P<what>(?:the )?[\w'-]+(?: [A-Z][\w'-]+)*)"
    r"(?= (?:what|who|how|if|to|about|where|we|a)\b|[.,])"
)
_VERBS: Final = _words(
    "is was has does goes keeps takes looks asks stays waits goes watches holds follows "
    "checks tells stands makes sits tries puts gives walks moves counts lets wants says knows "
    "turns"
)
_BASES: Final = _words(
    "am are have do go keep take look ask stay wait watch hold follow check tell stand make "
    "sit try put give walk move count let want say know turn whisper nod listen"
)
_PLURAL: Final = re.compile(
    r"(?:^|[.!?;] |, |\band |\bthat |\bbut )(?:I|[Ww]e|[Yy]ou|[Tt]hey) (?:[a-z]+ly )?"
    rf"(?:{'|'.join(_VERBS)})\b"
)
_WAS_RIGHT: Final = re.compile(
    r"\bI was\b|\b(?:[Aa]sks?|[Tt]ells?|for|to|of|with|what|which)\b.{0,9}$"
)
_LATER_VERB: Final = re.compile(
    r"\bthey [^.!?,]*, and (?:is|was|has)\b|\bI [a-z]+ [^.!?,]* and (?:is|has|does|likes|keeps)\b"
    r"|(?<!if )\b(?:it|he|she) were\b"
)
_OF_MANY: Final = re.compile(r"\b[Ww]e [^.!?]*\bour (?:thumb|hat|scarf|mouth|knee|coat|head)\b")
_WORD: Final = re.compile(r"[a-z]{4,}")
_EITHER: Final = re.compile(r"Do you ([^.?!\n]+?),? or (?:do you )?([^.?!\n]+)\?\s*$")
_EMPTY: Final = frozenset(
    _words("with that this from your ours them they what into have will would")
)
_ASIDE: Final = ("private-moment", "tangent-response")
_SECRET_LEAST: Final = 3


class Said(NamedTuple):
    """One message of a session, as its table has it."""

    turn: int
    channel: str
    speaker: str
    label: str
    text: str


class Lists(NamedTuple):
    """What people say is a noun, a noun that nobody can touch, somebody, and something."""

    nouns: frozenset[str]
    untouched: frozenset[str]
    people: frozenset[str]
    things: frozenset[str]


@cache
def lists() -> Lists:
    """The lists of ``guides/words.yaml``, in small letters."""
    found = yaml.safe_load((GUIDES / "words.yaml").read_text(encoding="utf-8"))
    return Lists(
        *(frozenset(str(found[key]).lower().split()) for key in ("nouns", "untouched")),
        *(frozenset(str(name).lower() for name in found[key]) for key in ("people", "things")),
    )


def broken(text: str) -> list[str]:
    """What in a line is a noun or a name in no reading of it."""
    known, told = lists(), _QUOTED.sub("", text)
    found = [f"{match[0]:.30}" for match in _ARTICLE.finditer(told) if not _noun_in(match["after"])]
    found += [match[0] for match in _NAMES.finditer(told) if _run_together(match[0].lower())]
    found += [
        match[0]
        for match in _HANDLED.finditer(told)
        if (who := match["who"].lower().removeprefix("the ")) in known.people
        or who.split()[-1] in known.untouched
    ]
    found += [
        match[0]
        for match in _SPOKEN_TO.finditer(told)
        if match["what"].lower().removeprefix("the ") in known.things
    ]
    return found


def _noun_in(after: str) -> bool:
    """Whether one of the words that follow an article, before the phrase ends, is a noun."""
    known, names = lists(), _words_of_names()
    for word in after.split()[:_LONGEST]:
        low = word.lower().removesuffix("'s")
        if low in known.nouns or (word[0].isupper() and low in names):
            return True
        if low in _NO_MORE:
            return False
    return False


@cache
def _words_of_names() -> frozenset[str]:
    return frozenset(word for name in lists().people | lists().things for word in name.split())


def _run_together(name: str) -> bool:
    """Whether a row of capitals holds two listed names, and is not one that holds another."""
    known = lists()
    inside = [one for one in known.people | known.things if f" {one} " in f" {name} "]
    longest = max(inside, key=len, default="")
    return any(one not in longest for one in inside)


def disagreeing(said: Said, names: Sequence[str]) -> list[str]:
    """Verbs and pronouns of a line that do not go with its person."""
    told = _QUOTED.sub('""', said.text)
    found = [
        match[0]
        for match in _PLURAL.finditer(told)
        if not match[0].endswith("I was") and not _WAS_RIGHT.search(told[: match.start()])
    ]
    who = "|".join(map(re.escape, names))
    opening = rf"(?:^|[.!?] )(?:{who}) (?:[a-z]+ly )?(?:{'|'.join(_BASES)})\b"
    found += [match[0] for match in re.finditer(opening, told)]
    found += [match[0] for match in _LATER_VERB.finditer(told)]
    if said.label == "relay" or said.speaker == "narrator":
        found += [match[0] for match in _OF_MANY.finditer(told)]
    if said.speaker == "narrator" and said.label in ("pulse", "clarification"):
        found += re.findall(r"(?:^|\. )You [^.!?]*\b(?:our|us|ours|we)\b", told)
    if said.label == "relay":
        told = told.replace("and it was me", "")
        found += re.findall(r"(?:^|[.!?] )We [^.!?]*\b(?:my|mine|me|I|myself)\b", told)
    return found


def _stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text.lower()) if word not in _EMPTY}


def choices(session: Sequence[Said]) -> Iterator[tuple[bool, str, str]]:
    """Choices that were relayed: whether what comes next takes them up, relay and narration."""
    open_lines = [one for one in session if one.channel == "table"]
    options: tuple[str, ...] = ()
    chosen = relay = ""
    for one in open_lines:
        if one.speaker == "narrator" and one.turn:
            if chosen and one.label not in _ASIDE:
                wanted = _stems(chosen)
                yield len(wanted & _stems(one.text)) * 2 >= len(wanted), relay, one.text
            chosen = ""
            options = match.groups() if (match := _EITHER.search(one.text)) else ()
        elif one.label == "relay":
            first = _stems(one.text.partition(". ")[0]) if one.text.startswith("We ") else set()
            relay = one.text
            fits = [each for each in options if (stems := _stems(each)) and stems <= first]
            chosen = fits[0] if len(fits) == 1 else ""


class Counts:
    """Sums over sessions, and examples of each thing that is counted."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.examples: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, session: Sequence[Said]) -> None:
        """Count one session, its messages in order."""
        names = list(dict.fromkeys(one.speaker for one in session if one.label == "introduction"))
        reactions = [one for one in session if one.label == "reaction"]
        self.sums["sessions"] += 1
        self._all("broken", "reactions", [one.text for one in reactions], broken)
        relays = [one.text for one in session if one.label == "relay"]
        self._all("broken in relays", "relays", relays, broken)
        heard: Counter[str] = Counter(one.text for one in reactions)
        self.sums["repeats"] += sum(number - 1 for number in heard.values())
        self.sums["with a twin"] += sum(number for number in heard.values() if number > 1)
        self.examples["repeats"] += [text for text, number in heard.items() if number > 1]
        answers = Counter(one.text for one in session if one.label == "answer")
        self.sums["clones"] += max(answers.values(), default=0) > 1
        opened = Counter(one.text.partition(". ")[0] for one in session if one.label == "answer")
        self.sums["open alike"] += max(opened.values(), default=0) > 1
        self.examples["clones"] += [text for text, number in answers.items() if number > 1]
        self.sums["lines"] += len(session)
        for one in session:
            wrong = disagreeing(one, names)
            self.sums["agreement"] += bool(wrong)
            self.examples["agreement"] += [f"{each} | {one.text}" for each in wrong]
        for taken_up, relay, narration in choices(session):
            self.sums["choices"] += 1
            self.sums["acknowledged"] += taken_up
            if not taken_up:
                self.examples["acknowledged"].append(f"{relay} -> {narration}")
        self._secrets(session)

    def _all(self, what: str, of: str, texts: Sequence[str], find: object) -> None:
        assert callable(find)
        for text in texts:
            wrong = find(text)
            self.sums[of] += 1
            self.sums[what] += bool(wrong)
            self.examples[what] += [f"{each} | {text}" for each in wrong]

    def _secrets(self, session: Sequence[Said]) -> None:
        secret = ""
        for one in session:
            if one.label == "private-moment":
                secret = one.text
            elif one.label == "shared":
                shared = _stems(secret.partition("]")[2]) & _stems(one.text)
                self.sums["secrets"] += 1
                self.sums["content"] += len(shared) >= _SECRET_LEAST
                if len(shared) < _SECRET_LEAST:
                    self.examples["content"].append(f"{secret} -> {one.text}")

    def told(self) -> list[str]:
        """The figures, a line each."""
        rows = (
            ("broken", "reactions", "reactions with a broken noun"),
            ("broken in relays", "relays", "relays with a broken noun"),
            ("repeats", "reactions", "reactions that repeat an earlier one of the session"),
            ("with a twin", "reactions", "reactions that are not the only one with their words"),
            ("clones", "sessions", "sessions with two players of one answer about themselves"),
            ("open alike", "sessions", "sessions with two such answers that open alike"),
            ("agreement", "lines", "lines in which a verb or pronoun has the wrong person"),
            ("acknowledged", "choices", "choices that the next narration takes up"),
            ("content", "secrets", "secrets that are told with what they are"),
        )
        return [
            f"{title:58} {self.sums[what]:7,} of {self.sums[of]:7,}  "
            f"{100 * self.sums[what] / max(1, self.sums[of]):6.2f} %"
            for what, of, title in rows
        ]


def messages_of(run: Path) -> Iterator[tuple[str, list[Said]]]:
    """Scenario and messages of each session of a run."""
    from matrix.store.reading.reader import RunTables

    tables = RunTables(run)
    scenarios = {
        row["session_id"]: row["scenario"]
        for row in tables.table("sessions", ["session_id", "scenario"]).to_pylist()
    }
    columns = ["session_id", "position", *Said._fields]
    rows = tables.table("messages", columns).to_pylist()
    rows = [row for row in rows if not row["channel"].startswith("persona")]
    rows.sort(key=lambda row: (row["session_id"], row["position"]))
    for session, lines in groupby(rows, key=lambda row: str(row["session_id"])):
        yield scenarios[session], [Said(*(line[key] for key in Said._fields)) for line in lines]


def played(folder: Path, per_cell: int) -> Path:
    """A run of the built-in stories and the guides beside this file, in ``folder``."""
    from matrix import api

    packs = folder / "scenarios" / "playtest"
    shutil.copytree(GUIDES, packs, ignore=shutil.ignore_patterns("words.yaml"))
    spec = folder / "matrix.yaml"
    spec.write_text(_SPEC % per_cell, encoding="utf-8")
    return Path(api.run(spec, results=folder / "results", executor="in-process").path)


def measure(run: Path, examples: int) -> str:
    """The figures of a run as text: of built-in stories, of the other guides, and of all."""
    other = {path.name for path in GUIDES.iterdir() if path.is_dir()}
    parts = {"built-in stories": Counts(), "guides in other habits": Counts()}
    for scenario, session in messages_of(run):
        parts["guides in other habits" if scenario in other else "built-in stories"].add(session)
    lines = []
    for title, counts in parts.items():
        if counts.sums["sessions"]:
            lines += [f"{title}: {counts.sums['sessions']} sessions", *counts.told(), ""]
        for what, found in counts.examples.items():
            lines += [f"  {what}: {each!r}" for each in found[:examples]]
    return "\n".join(lines)


def main() -> int:
    """Play and count; 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.texts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--per-cell", type=int, default=15, help="sessions per story (15)")
    parser.add_argument("--examples", type=int, default=0, help="examples of each count (0)")
    parser.add_argument("--run", type=Path, help="a run that was played already")
    options = parser.parse_args()
    if options.run is not None:
        print(measure(options.run, options.examples))
        return 0
    with tempfile.TemporaryDirectory() as name:
        print(measure(played(Path(name), options.per_cell), options.examples))
    return 0


if __name__ == "__main__":
    sys.exit(main())
