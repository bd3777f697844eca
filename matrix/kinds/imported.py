"""The ``imported`` kind: sessions that were played elsewhere, and whose results were imported.

`matrix import` makes runs of it. There is nothing to play: it only says what the scores mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from matrix.kinds.context import Context, ForkContext
from matrix.kinds.protocol import (
    Binding,
    PackLibrary,
    PreviousPlay,
    RoleInfo,
    ScenarioPack,
)
from matrix.model.errors import BadInput, Mistake
from matrix.model.exported import ExportedFacts
from matrix.model.lines import in_line
from matrix.model.records import JSON

IMPORTED = "imported"


class ImportedOptions(BaseModel):
    """What an import took for what."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    files: tuple[str, ...] = Field(min_length=1, description="Names of the files, without folders.")
    form: str = Field(description="What they are, in words.")
    unit: str = Field(
        default="",
        description="What results are paired on, or grouped by; empty where nothing says it.",
    )
    grouped: bool = Field(
        default=False, description="Whether no unit is in two variants, so that none is paired."
    )
    units: str = Field(
        default="", description="Hash of the units: imports of the same ones can be paired."
    )
    repeats: int = Field(default=1, ge=1, description="Results of one unit and variant, at most.")
    taken: Mapping[str, str] = Field(
        default_factory=dict, description="What was taken for what, by its name in the files."
    )
    better: Literal["higher", "lower"] = Field(
        default="higher", description="Which scores are better."
    )
    lower: tuple[str, ...] = Field(
        default=(), description="Metrics of which less is better, by their names or as was said."
    )
    score_range: tuple[float, float] | None = Field(
        default=None, description="Least and greatest possible score, where that is known."
    )
    tells_failures: bool = Field(
        default=False, description="Whether the files say of a result that it went wrong."
    )
    tells_costs: bool = Field(
        default=False, description="Whether they say what every result cost, be it nothing."
    )
    no_costs: str = Field(
        default="", description="Why nothing is said of costs, where the files have some."
    )
    alone: str = Field(
        default="", description="What a verdict is about alone, such as the units, and no others."
    )
    notes: tuple[str, ...] = Field(
        default=(), description="What a verdict has to be read with, in sentences."
    )
    exported: ExportedFacts | None = Field(
        default=None, description="For results that were exported from a run: what it was."
    )


class ImportedState(BaseModel):
    """Nothing."""


class ImportedKind:
    """See the module."""

    name = IMPORTED
    version = 1
    state_version = 1
    roles: tuple[RoleInfo, ...] = ()
    options_model = ImportedOptions
    state_model = ImportedState

    def __init__(self, options: ImportedOptions | None = None) -> None:
        self._options = options
        self.lower_is_better = frozenset[str]() if options is None else _lower(options)
        self.score_range = options.score_range if options is not None else None

    @property
    def score_is(self) -> str:
        """The column that the scores are from; empty where that is not known, or is ``score``."""
        name = "" if self._options is None else self._options.taken.get("score", "")
        name = in_line(name.partition(", ")[0])
        return "" if name in ("score", "none") else name

    def scoring(self, options: Mapping[str, JSON]) -> ImportedKind:
        """This kind with the range and the direction of one import's scores."""
        try:
            return ImportedKind(ImportedOptions.model_validate(dict(options)))
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            told = f"cannot be read: {where}: {error.errors()[0]['msg']}; import the files again"
            raise BadInput([Mistake("run.json", None, "spec.options", told)]) from None

    def read_pack(self, folder: Path, name: str) -> ScenarioPack:
        refuse()

    def bind(
        self,
        pack: ScenarioPack,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        max_turns: int,
    ) -> Binding:
        refuse()

    def rebind(
        self,
        kept: PreviousPlay,
        options: BaseModel,
        roles: Mapping[str, str],
        library: PackLibrary,
        pack: ScenarioPack | None = None,
    ) -> Binding:
        refuse()

    def fork(self, ctx: ForkContext, state: BaseModel, changes: Mapping[str, JSON]) -> BaseModel:
        refuse()

    async def prelude(self, ctx: Context) -> JSON:
        refuse()

    async def start(self, ctx: Context) -> BaseModel:
        refuse()

    async def turn(self, ctx: Context, state: BaseModel) -> BaseModel:
        refuse()

    async def finish(self, ctx: Context, state: BaseModel) -> None:
        refuse()


def _lower(options: ImportedOptions) -> frozenset[str]:
    """Scores of which less is better."""
    if options.exported is not None:
        return frozenset(options.exported.lower)
    score = ("score",) if options.better == "lower" else ()
    return frozenset((*score, *options.lower))


def refuse() -> NoReturn:
    """Say that there is nothing to play.

    Raises:
        BadInput: Always.
    """
    told = "is the kind of results that were made elsewhere, which cannot be played; "
    raise BadInput([Mistake("kind", None, "", f"{told}`matrix import FILE` makes runs of it")])


KIND = ImportedKind()
