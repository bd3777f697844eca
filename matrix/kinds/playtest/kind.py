"""The play-test kind: a group of simulated players, a spokesperson, and the narrator under test.

What a turn takes (three hundred patterns of the detectors) is imported by the first one that is
played: ``plan``, ``validate`` and ``show`` ask a kind much and play nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from matrix.judging.asking import Judged
from matrix.judging.recording import record_criteria
from matrix.judging.verdict import RubricVerdict
from matrix.kinds.context import Context, ForkContext
from matrix.kinds.playtest.export.document import PlaytestDocument, document_of
from matrix.kinds.playtest.export.grouping import ALSO_CALLED, groups_of
from matrix.kinds.playtest.setup.binding import bind_cell, rebind_session
from matrix.kinds.playtest.setup.given import CHANGES, OPTIONS, changes_of, with_given
from matrix.kinds.playtest.setup.listing import PARTS, list_part
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.setup.pack import read_scenario
from matrix.kinds.playtest.setup.roles import INTERVIEW, ROLES
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.kinds.playtest.setup.wording import words_in
from matrix.kinds.playtest.table.casting import cast_group
from matrix.kinds.playtest.table.creation import create_characters
from matrix.kinds.playtest.table.judge import QUALITY, judge_session, rubric_of
from matrix.kinds.playtest.table.scoring import (
    COUNT_NAMES,
    SCORE_NAMES,
    UNDIRECTED,
    record_composite,
    record_counts,
    record_findings,
    record_passed,
)
from matrix.kinds.playtest.table.table import TurnTable
from matrix.kinds.protocol import (
    Binding,
    FileOption,
    FileRequest,
    LabelQuestion,
    ListedPart,
    PackLibrary,
    PreviousPlay,
    ReadFile,
    RoleInfo,
    ScenarioPack,
)
from matrix.kinds.reporting import SessionSections, SessionSoFar
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.records import JSON, Player


class PlaytestKind:
    """Sessions of two to eight archetypal players around one narrator.

    ``prelude`` draws and casts the group, once per round for every variant; ``start`` is character
    creation; a ``turn`` is one output of the narrator with everything it brings about; ``finish``
    judges and scores.
    """

    name: str = "playtest"
    version: int = 1
    state_version: int = 1
    roles: tuple[RoleInfo, ...] = ROLES
    options_model: type[BaseModel] = PlaytestOptions
    state_model: type[BaseModel] = PlaytestState
    document_model: type[BaseModel] = PlaytestDocument
    score_range: tuple[float, float] = (0.0, 100.0)
    score_names: frozenset[str] = SCORE_NAMES
    lower_is_better: frozenset[str] = frozenset(
        {
            *COUNT_NAMES.values(),
            "turns_per_pulse",
            "pulse_longest_gap",
            "tangent_avg_length",
            "tangent_max_length",
            "tangent_spirals",
            "private_spoiled",
            "relay_misattributed",
            "relay_added",
            "relay_left_out",
        }
    )
    undirected: frozenset[str] = UNDIRECTED

    file_options: tuple[FileOption, ...] = OPTIONS
    file_names: tuple[str, ...] = ()
    change_options: tuple[FileOption, ...] = CHANGES
    parts: tuple[str, ...] = PARTS
    also_called: Mapping[str, str] = ALSO_CALLED

    def claims(self, value: JSON) -> bool:
        """No file but a run spec is of this kind."""
        return False

    def read_file(self, request: FileRequest) -> ReadFile:
        """Never asked, as nothing is claimed."""
        return with_given(request)

    def with_options(self, request: FileRequest) -> ReadFile:
        """A run spec with what was given over it.

        Raises:
            BadInput: Every mistake in what was given.
        """
        return with_given(request)

    def changes_given(self, given: Mapping[str, str]) -> Mapping[str, JSON]:
        """What ``matrix replay`` is given, as changes."""
        return changes_of(given)

    def list_part(self, part: str, library: PackLibrary) -> Sequence[ListedPart]:
        """All archetypes, stories or prompts that there are.

        Raises:
            BadInput: Every mistake in a file of one.
        """
        return list_part(part, library)

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        """Read and check a scenario's folder.

        Raises:
            BadInput: Every mistake in it.
        """
        return read_scenario(folder, name)

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        """Join a scenario with one cell.

        Raises:
            BadInput: An option names a prompt or archetype that is not there.
        """
        checked = _checked(options)
        return bind_cell(pack, checked, roles, library, max_turns)

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        """Join a session that is to go on changed; only what differs is read anew.

        Raises:
            BadInput: A change names a prompt or archetype that is not there.
        """
        checked = _checked(options)
        return rebind_session(kept, checked, roles, library, pack)

    def fork(
        self, ctx: ForkContext, state: PlaytestState, changes: Mapping[str, JSON]
    ) -> PlaytestState:
        """Carry a state over: models and archetypes at the table are those of the new session.

        Raises:
            BadInput: A change of what was drawn when the group sat down.
        """
        from matrix.kinds.playtest.export.forking import fork_session

        return fork_session(ctx, state, changes)

    async def prelude(self, ctx: Context) -> JSON:
        """Draw and cast the round's group: a list of players, as JSON."""
        return await cast_group(ctx)

    async def start(self, ctx: Context) -> PlaytestState:
        """Seat the group and play character creation."""
        return await create_characters(ctx)

    async def turn(self, ctx: Context, state: PlaytestState) -> PlaytestState:
        """Play one turn; none where somebody is only to be asked."""
        if TurnTable.of(ctx).options.interview is not None:
            ctx.end("completed", "an interview")
            return state
        from matrix.kinds.playtest.table.turn import play_turn

        return await play_turn(ctx, state)

    def document(self, session: SessionSoFar) -> BaseModel:
        """The session in the words of the play-test document."""
        return document_of(session)

    def sections(self, session: SessionSoFar) -> SessionSections:
        """The report's headings of the play-test document."""
        from matrix.kinds.playtest.export.report import sections_of

        return sections_of(session)

    def groups_of(self, players: Sequence[Player]) -> Mapping[str, frozenset[str]]:
        """By archetypes, by how many there are, and by the archetype of who relays."""
        return groups_of(players)

    def interview(self, who: str, question: str) -> Mapping[str, JSON]:
        """The option that has one player asked in place of playing on."""
        return {INTERVIEW: {"player": who, "question": question}}

    def texts_for_judges(self, texts: Mapping[str, JSON]) -> Mapping[str, str]:
        """The guide, which says who is who."""
        return {"guide": texts["guide"]}

    def questions(self, kept: PreviousPlay) -> Mapping[str, LabelQuestion]:
        """What the judge is asked of every session."""
        rubric = rubric_of(words_in(kept.texts["scenario"]))
        low, high = rubric.scale
        return {
            QUALITY + one.name: LabelQuestion(one.question, low, high) for one in rubric.criteria
        }

    async def finish(self, ctx: Context, state: PlaytestState) -> None:
        """Close the books: an open tangent, survey, the judge's verdicts, metrics, composite."""
        table = TurnTable.of(ctx)
        if table.options.interview is not None:
            from matrix.kinds.playtest.table.survey import interview_player

            await interview_player(ctx, table, state, table.options.interview)
            return
        from matrix.kinds.playtest.detect.observe import close_tangent
        from matrix.kinds.playtest.table.review import confirm_issues, review_issues

        state, findings = close_tangent(state, ctx.log)
        record_findings(ctx, findings)
        if table.options.survey and state.turns:
            from matrix.kinds.playtest.table.survey import survey_players

            await survey_players(ctx, table, state, table.options.survey)
        judged: Sequence[Judged[RubricVerdict]] = ()
        rubric = rubric_of(table.words)
        if table.options.with_judge and state.turns:
            judged = await judge_session(ctx, table, state, rubric)
            record_criteria(ctx, rubric, judged, QUALITY)
        if state.turns:
            state = await confirm_issues(ctx, table, state)
            state = await review_issues(ctx, table, state, judged)
        values = record_counts(ctx, state, table.expected)
        values |= record_composite(
            ctx, state, table.expected, judged, table.options.weights, rubric
        )
        record_passed(ctx, values, table.options.pass_if, self.lower_is_better)


def _checked(options: BaseModel) -> PlaytestOptions:
    """Options whose thresholds are of scores that there are.

    Raises:
        BadInput: A threshold of a score that no session has.
    """
    checked = PlaytestOptions.model_validate(options.model_dump())
    allowed = sorted(SCORE_NAMES - {"passed"})
    unknown = [name for name in checked.pass_if if name not in allowed]
    if unknown:
        raise BadInput(
            Mistake(
                "run spec",
                None,
                f"options.pass_if.{name}",
                f"no score is called {name!r}; a threshold is of one that sessions end with: "
                f"{', '.join(allowed)}{did_you_mean(name, allowed)}",
            )
            for name in unknown
        )
    return checked


KIND: Final = PlaytestKind()
"""The registered instance."""
