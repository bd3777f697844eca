"""What a kind says of what was played: of a session, in files and reports, and of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel

from matrix.model.records import JSON, Event, Message, Player, Score, SessionPlan
from matrix.model.seeds import content_hash


@dataclass(frozen=True, slots=True)
class SessionSoFar:
    """A session as it stood after a turn, for what its kind writes of it.

    Attributes:
        run_id: Its run.
        plan: Its plan.
        turn: The turn; 0 for what precedes the first.
        players: Members of its group, for kinds that have one.
        messages: The log until then.
        events: What happened until then.
        state: The kind's state after the turn.
        texts: Its texts and data, by name.
        prelude: What the round's shared preparation made.
        times: Turn -> when it was over, in milliseconds since 1970.
        scores: What was measured until then.
    """

    run_id: str
    plan: SessionPlan
    turn: int
    players: tuple[Player, ...]
    messages: tuple[Message, ...]
    events: tuple[Event, ...]
    state: JSON
    texts: Mapping[str, JSON]
    prelude: JSON
    times: Mapping[int, float]
    scores: tuple[Score, ...] = ()


@runtime_checkable
class OwnsDocument(Protocol):
    """A kind whose exported sessions have fields of its own, for people and other programs.

    They stand beside what is played on from, which is the same for every kind; so their names may
    not be ``format``, ``run``, ``turn``, ``timestamp`` or ``continuation``.
    """

    @property
    def document_model(self) -> type[BaseModel]:
        """The fields. Files are untrusted: bound them."""
        ...

    def document(self, session: SessionSoFar) -> BaseModel:
        """What they hold of a session."""
        ...


class TimelineLine(NamedTuple):
    """One paragraph below a heading of a timeline.

    Attributes:
        text: The words; whatever they are, they are shown as text.
        label: Whose or what they are; empty for nothing that has to be said.
        quoted: Whether somebody said them in the session.
    """

    text: str
    label: str = ""
    quoted: bool = False


class TimelineEntry(NamedTuple):
    """What belongs together of one turn or of several in a row, in the timeline of a report."""

    first: int
    last: int
    title: str
    lines: Sequence[TimelineLine] = ()


class SessionSections(NamedTuple):
    """What the Markdown report of a session has beside what is said of any.

    All but ``sections`` is text, and shown as such whatever it has in it.

    Attributes:
        config: Lines of its own about how the session was set up, each a name and a value.
        sections: Title -> Markdown, between how it was set up and its summary.
        summary: Lines of its own of the summary, likewise.
        beginning: Title of what precedes the first turn.
        events: Kind of an event -> what it is called, with ``{value}`` for its number.
        issues: Kinds of events that are problems; any with a severity, if ``None``.
        timeline: Entries of the timeline in their order; an entry of each event, if ``None``.
        metrics: Lines of what was measured, each a name and values; all scores of the whole
            session, if ``None``.
    """

    config: Sequence[tuple[str, str]] = ()
    sections: Mapping[str, str] = {}
    summary: Sequence[tuple[str, str]] = ()
    beginning: str = "Before the first turn"
    events: Mapping[str, str] = {}
    issues: Sequence[str] | None = None
    timeline: Sequence[TimelineEntry] | None = None
    metrics: Sequence[tuple[str, str]] | None = None


@runtime_checkable
class OwnsSections(Protocol):
    """A kind with words and sections of its own in the report of a session."""

    def sections(self, session: SessionSoFar) -> SessionSections:
        """They, for a session after its newest turn, with what its end has added."""
        ...


@runtime_checkable
class GroupsSessions(Protocol):
    """A kind whose sessions can be told apart by who takes part in them.

    Attributes:
        also_called: What people call something that sessions are divided by -> its name.
    """

    also_called: Mapping[str, str]

    def groups_of(self, players: Sequence[Player]) -> Mapping[str, frozenset[str]]:
        """Name of a division -> the groups that a session of these players is in.

        The names are the same, and in the same order, whoever plays.
        """
        ...


@runtime_checkable
class CountsOnly(Protocol):
    """A kind some of whose scores are neither good nor bad, however many there are of them.

    Attributes:
        undirected: Names of these; of any other score more is better, or less if the kind says so.
    """

    undirected: frozenset[str]


class EndedSession(NamedTuple):
    """A session that is over, for what a kind says of its whole run.

    Attributes:
        session_id: Its id.
        scenario: Its scenario.
        levels: Factor -> level.
        round: Its round, from 0.
        outcome: How it ended; ``""`` if it has not been played, or not to its end.
        reason: Why, in words.
        duration_s: By its own clock.
        reported: Texts that it has left in the channel :data:`REPORTED`, oldest first.
        parent_turn: Up to which turn it was played in the run that it goes on from; 0 for none.
    """

    session_id: str
    scenario: str
    levels: Mapping[str, str]
    round: int
    outcome: str
    reason: str
    duration_s: float
    reported: tuple[str, ...]
    parent_turn: int = 0


class Spent(NamedTuple):
    """What calls of one sort came to: of one scenario, turn, role and tag, over all its sessions.

    ``turn`` is 0 for what was asked before the first turn or after the last.
    """

    scenario: str
    turn: int
    role: str
    tag: str
    calls: int
    usd: float


class EndedRun(NamedTuple):
    """A run that is over: when it began (UTC, in seconds since 1970), and its sessions in order.

    ``touched`` is what became of the project's own files meanwhile, for a kind that guards them;
    ``goes_on`` says that its sessions are those of another run, judged again or played on.
    ``simulated`` says whose answers were simulated; empty for nobody's. ``judged_again`` says that
    its sessions were over before, and only judged anew.
    ``spent`` adds up what was paid, when it is asked. ``judge`` is what is known of its judges: how
    they stand beside people (``standing``: a word, a sentence, kappa and n; ``None`` where none
    has part in the score), what they did wrong (``faults``, counted), and both as ``lines``.
    """

    run_id: str
    began_at: float
    options: Mapping[str, JSON]
    sessions: tuple[EndedSession, ...]
    touched: tuple[str, ...] = ()
    goes_on: bool = False
    spent: Callable[[], Sequence[Spent]] = tuple
    judge: Mapping[str, JSON] = {}
    simulated: str = ""
    judged_again: bool = False


_LONGEST_NAME: Final = 150
_TOLD_HASH: Final = 8
OF_RUN: Final = "RUN"
"""Where a file's name begins that goes into the run's own folder rather than the project."""


def file_name(text: str) -> str:
    """Text as the name of one file: whatever leads elsewhere, or is odd in a name, is a dash.

    A name that is other than the text ends in a part of the text's hash, so that no two texts have
    the same one.
    """
    safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in text)[:_LONGEST_NAME]
    if safe == text and text.strip("."):
        return safe
    return f"{safe.lstrip('.')}-{content_hash(text)[:_TOLD_HASH]}"


class GridCell(NamedTuple):
    """One cell of a grid: a word, how good it is from 0 to 1 (if it is), whose, and of which turn.

    ``turn`` is ``None`` where the word is about the whole session.
    """

    text: str
    share: float | None = None
    session_id: str = ""
    turn: int | None = None


class Grid(NamedTuple):
    """What was looked at, row by row, in every column: for pages."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[GridCell, ...]], ...]


class ReportedCase(NamedTuple):
    """One thing that passed or did not, for programs that count such things (JUnit).

    ``outcome`` is ``passed``, ``failed``, ``error`` (it could not be told) or ``skipped``;
    ``noticed`` is what was seen on the way, whatever the outcome.
    """

    group: str
    name: str
    outcome: str
    told: str = ""
    noticed: str = ""


class RunReport(NamedTuple):
    """What a kind says of a run.

    Attributes:
        files: Path -> content: inside the project, or inside the run's folder after ``RUN/``.
        lines: For people, after the summary.
        failed: How many cases failed; any makes the exit code 3.
        data: The same for programs: ``report`` in what ``--json`` prints.
        folders: Session -> name under which its working folder is written out, as it was at the
            end, in ``workdirs`` of the run's folder.
        pins: Scenario -> the shape of a final state in which nothing failed, as a file's text;
            later runs are held against it (``matrix export RUN --snapshot``).
        unpinned: Scenario -> why there is no such shape of it.
        pinned_of: Scenario -> which runs have the shape that is pinned, where they have several.
        judged: How many of ``failed`` were judged and failed: the exit code is 3 for these even
            where so much else could not be judged that it would be 1.
        grids: What was looked at, as tables of words, for pages.
        cases: What passed and what did not, one by one.
        verdict: What it came to, in one sentence, and then what that supports, for whoever reads
            nothing else. Pages and comments begin with it where nothing is compared.
    """

    files: Mapping[str, str]
    lines: tuple[str, ...]
    failed: int
    data: Mapping[str, JSON] = {}
    folders: Mapping[str, str] = {}
    pins: Mapping[str, str] = {}
    unpinned: Mapping[str, str] = {}
    pinned_of: Mapping[str, str] = {}
    judged: int = 0
    grids: tuple[Grid, ...] = ()
    cases: tuple[ReportedCase, ...] = ()
    verdict: tuple[str, ...] = ()


@runtime_checkable
class ReportsRuns(Protocol):
    """A kind that says what a whole run came to, in files of its own form."""

    def report(self, run: EndedRun) -> RunReport:
        """Say it. The same for the same run, however often it is asked."""
        ...
