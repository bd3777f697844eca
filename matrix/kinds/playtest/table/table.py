"""The table of one session: who sits where, which model speaks for whom, what is being played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from matrix.judging.rubric_file import RubricFile
from matrix.kinds.context import Context, MessageLog
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.binding import RUBRICS
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.setup.prompts import narrator_system
from matrix.kinds.playtest.setup.state import PlaytestState, Seat
from matrix.kinds.playtest.setup.wording import Words, words_in

if TYPE_CHECKING:
    from matrix.kinds.playtest.detect.observe import World


class TurnTable(NamedTuple):
    """What a turn needs besides the state; read afresh from the context each time.

    Prompt, guide and models come from the session's resources and roles, never from its state, so
    that a branch with another prompt or model takes effect at once.
    """

    options: PlaytestOptions
    scenario: dict[str, Any]
    guide: str
    prompt: str
    archetypes: dict[str, dict[str, Any]]
    rubrics: Mapping[str, RubricFile]

    @staticmethod
    def of(ctx: Context) -> TurnTable:
        """The table of this session."""
        options = PlaytestOptions.model_validate(ctx.plan.options)
        return TurnTable(
            options=options,
            scenario=ctx.resource("scenario"),
            guide=ctx.resource("guide"),
            prompt=ctx.resource("prompt"),
            archetypes=ctx.resource("archetypes"),
            rubrics=_rubrics(ctx) if options.check_issues else {},
        )

    @property
    def title(self) -> str:
        """Title of the story."""
        return str(self.scenario["title"])

    @property
    def words(self) -> Words:
        """Texts of the wording that the story says otherwise."""
        return words_in(self.scenario)

    @property
    def expected(self) -> int:
        """Pulses that a full session has."""
        return int(self.scenario["pulses_expected"])

    @property
    def world(self) -> World:
        """Guide, title with setting, and what a full session has."""
        from matrix.kinds.playtest.detect.observe import World  # see kind.py

        about = f"{self.title} {self.scenario['setting']}"
        return World(self.guide, about, self.expected, self.options.early_end)

    @property
    def narrator_system(self) -> str:
        """The narrator's system prompt."""
        return narrator_system(self.prompt, self.title, self.guide, self.words)

    def loses_track(self, archetype: str) -> bool:
        """Whether a member of the group with this archetype is lost by habit."""
        return bool(self.archetypes.get(archetype, {}).get("loses_track", False))

    def model_of(self, ctx: Context, role: str, archetype: str) -> str:
        """The model that ``role`` uses for a member of the group with this archetype."""
        own = str(self.archetypes[archetype]["model"]) if archetype in self.archetypes else ""
        return roles.model_of(role, ctx.plan.roles, own)


def _rubrics(ctx: Context) -> dict[str, RubricFile]:
    """Issue -> the rubric by which a judge is asked about it."""
    kept = ctx.resource(RUBRICS)
    return {kind: RubricFile.model_validate(value) for kind, value in kept.items()}


def persona_of(log: MessageLog, seat: Seat) -> str:
    """A player's system prompt."""
    return log[seat.persona].text


def spokesperson_of(state: PlaytestState) -> Seat:
    """Who speaks for the group."""
    return state.seats[state.spokesperson]
