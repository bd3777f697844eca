"""The ``interview`` kind: guests are asked to count. With its folder on the path of Python it is
installed, as somebody else's kind would be, and brings all that a kind can: a file form and options
of the command line, a variable, a document, sections of a session's report, a report of the run,
changes of a replay, what can be listed, and groups of its sessions.

Its words stand here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from matrix.kinds.context import Context
from matrix.kinds.counter import CounterKind, CounterState
from matrix.kinds.protocol import (
    REPORTED,
    FileOption,
    FileRequest,
    ListedPart,
    PackLibrary,
    ReadFile,
    ScenarioPack,
)
from matrix.kinds.reporting import EndedRun, RunReport, SessionSections, SessionSoFar
from matrix.model.documents.yaml_documents import check
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import JSON, Message, Player

Name = Annotated[str, StringConstraints(max_length=40)]


class GuestList(BaseModel):
    """``guests.yaml``: who is asked, and how many questions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    guests: list[Name] = Field(min_length=1, max_length=20)
    questions: int = Field(default=2, ge=1, le=20)


class Protocolled(BaseModel):
    """What an exported session holds of an interview."""

    guest: Name = ""
    answers: list[Annotated[str, StringConstraints(max_length=200)]] = Field(
        default=[], max_length=200
    )


class InterviewKind(CounterKind):
    """See the module."""

    name = "interview"
    file_options = (FileOption("--guests", "A,B", "Only these guests."),)
    file_names = ("guests.yaml",)
    variables: Mapping[str, str] = {"MATRIX_STUDIO": "the studio that the report names"}
    document_model = Protocolled
    change_options = (FileOption("--strides", "N", "The same as --set step=N."),)
    parts = ("studios",)
    also_called: Mapping[str, str] = {"who": "guest"}

    def changes_given(self, given: Mapping[str, str]) -> Mapping[str, JSON]:
        return {"step": int(given["--strides"])} if "--strides" in given else {}

    def list_part(self, part: str, library: PackLibrary) -> Sequence[ListedPart]:
        return [ListedPart("north", "by the harbour", {"seats": 4}), ListedPart("south", "", {})]

    def groups_of(self, players: Sequence[Player]) -> Mapping[str, frozenset[str]]:
        return {"guest": frozenset(one.name for one in players)}

    def claims(self, value: JSON) -> bool:
        return isinstance(value, dict) and "guests" in value and "kind" not in value

    def read_file(self, request: FileRequest) -> ReadFile:
        guests = check(request.document, GuestList)
        asked = str(request.given.get("--guests") or ",".join(guests.guests)).split(",")
        if unknown := [one for one in asked if one not in guests.guests]:
            told = f"found {unknown[0]!r}; there are: {', '.join(guests.guests)}"
            raise BadInput([Mistake("--guests", None, "", told)])
        packs = {
            one: ScenarioPack(one, self.name, one, "", {"start": number})
            for number, one in enumerate(guests.guests)
            if one in asked
        }
        spec: dict[str, JSON] = {
            "name": self.name,
            "kind": self.name,
            "scenarios": list(packs),
            "per_cell": 1,
            "factors": {"step": [1, 2]},
            "options": {"turns": guests.questions},
        }
        return ReadFile(spec, packs)

    async def turn(self, ctx: Context, state: CounterState) -> CounterState:
        state = await super().turn(ctx, state)
        if ctx.turn == 1:
            ctx.player(Player(ctx.plan.scenario, "guest", "", True, "calm"))
        ctx.event("answered", subject=ctx.plan.scenario, value=float(state.count))
        return state

    async def finish(self, ctx: Context, state: CounterState) -> None:
        await super().finish(ctx, state)
        ctx.log.append(Message(REPORTED, self.name, f"{ctx.plan.scenario}: {state.count}", 0))

    def document(self, session: SessionSoFar) -> Protocolled:
        answers = [one.text for one in session.messages if one.speaker == "counter"]
        return Protocolled(guest=session.plan.scenario, answers=answers)

    def sections(self, session: SessionSoFar) -> SessionSections:
        answers = self.document(session).answers
        return SessionSections(
            config=[("Guest", session.plan.scenario)],
            sections={"What was answered": "\n".join(f"1. {one}" for one in answers)},
            summary=[("Answers", str(len(answers)))],
            beginning="In the green room",
            events={"answered": "Said {value}"},
        )

    def report(self, run: EndedRun) -> RunReport:
        said = [text for session in run.sessions for text in session.reported]
        return RunReport(
            files={f"broadcast/{run.run_id}.txt": "\n".join(said) + "\n"},
            lines=(f"{len(said)} guests went on air",),
            failed=0,
            data={"on_air": len(said)},
        )


KIND = InterviewKind()
