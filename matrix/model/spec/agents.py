"""Agents: systems under test that are no chat model, as a run spec names them.

An agent is a level of a role, like a model. It has one of four forms: a command, a service behind
HTTP, a function of Python, or a model with tools that works in the session's folder. What a turn
of it costs is known in one of two ways: its own requests come through a metered address
(``meter``), or a turn is held at ``max_usd`` and settled with what the agent reports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from matrix.model.errors import did_you_mean
from matrix.model.money import NanoUSD, from_usd
from matrix.model.records import JSON

MAX_TURN_USD: Final = 10_000.0
"""Most dollars that one turn may be held at."""

LONGEST_TURN_S: Final = 600.0
"""Longest working time of a turn that nobody bounds, in seconds."""

FOLDER_TOOLS: Final = ("read", "write", "edit", "list", "search")
"""What the built-in agent can be given."""

PLACES: Final = ("project", "session", "seed", "turn", "role")
"""What stands in braces in a command: the project's folder, and what the turn is of."""
HTTP_PLACES: Final = ("prompt", "session", "seed", "turn", "id")
_PLACE: Final = re.compile(r"\{([a-z]+)\}")
_NAMED: Final = re.compile(r"\{([a-z_]+)\}")
"""With the names that kinds have for what they tell, which only the kind knows."""

Address = Annotated[str, AfterValidator(lambda text: _address(text))]
Variable = Annotated[str, AfterValidator(lambda text: _variable(text))]
FieldPath = Annotated[str, Field(min_length=1, max_length=200)]


def _address(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"found {text!r}; an address starts with http:// or https://")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError(
            "should be the name of an environment variable; what was found is not shown, in case "
            "it is a secret itself"
        )
    return text


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", validate_default=True)


class AnswerFields(_Part):
    """Where the fields of an agent's answer are: paths such as ``result.text`` or ``choices.0``."""

    text: FieldPath | None = Field(
        default=None, description="The words; without it, all that the agent says is the answer."
    )
    cost_usd: FieldPath | None = Field(default=None, description="What the turn cost, in dollars.")
    tokens_in: FieldPath | None = Field(default=None, description="Tokens that it read.")
    tokens_out: FieldPath | None = Field(default=None, description="Tokens that it wrote.")
    status: FieldPath | None = Field(
        default=None, description="The state of its work, for kinds that go by one."
    )
    failed: FieldPath | None = Field(
        default=None, description="Where it says `true` if the turn failed, whatever else it says."
    )

    @property
    def is_json(self) -> bool:
        """Whether the answer has to be a JSON value."""
        return any(getattr(self, name) is not None for name in type(self).model_fields)


class HttpForm(_Part):
    """A service that answers a request, or takes a job and is asked again until it is done."""

    submit: Address = Field(description="Where a turn is posted.")
    body: Mapping[str, Any] = Field(
        default={"message": "{prompt}"},
        description="What is posted; {prompt}, {session}, {seed}, {turn} are filled in.",
    )
    headers: Mapping[str, str] = Field(
        default_factory=dict,
        description="More headers; $NAME is the variable of that name, which is in pass_env.",
    )
    id: FieldPath | None = Field(
        default=None, description="Where the answer says the id of the job, or of the conversation."
    )
    poll: Address | None = Field(
        default=None, description="Where the state of job {id} is; without it, submit answers."
    )
    status: FieldPath = Field(default="status", description="Where an answer says the job's state.")
    done: tuple[str, ...] = Field(
        default=("done", "completed", "succeeded"), description="States of a job that is over."
    )
    failed: tuple[str, ...] = Field(
        default=("failed", "error", "cancelled"), description="States of a job that failed."
    )
    every_s: float = Field(default=1.0, gt=0, le=600, description="Seconds between two looks.")
    reply: Address | None = Field(
        default=None, description="Where later turns of conversation {id} go; else to submit."
    )


class AgentSpec(_Part):
    """One agent: exactly one of ``command``, ``http``, ``python`` and ``tools``."""

    command: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Program and arguments, run in the session's folder; the prompt is its input.",
    )
    http: HttpForm | None = Field(default=None, description="A service of your own.")
    python: str | None = Field(
        default=None, description="`module:function`, an async function: Turn -> Reply."
    )
    tools: tuple[Literal["read", "write", "edit", "list", "search"], ...] | None = Field(
        default=None, description="Built-in agent: what it may do in the folder."
    )
    model: str | None = Field(default=None, description="Of the built-in agent: the model.")
    steps: int = Field(
        default=30, ge=1, le=1000, description="Of the built-in agent: most requests of a turn."
    )
    answer: AnswerFields = Field(
        default=AnswerFields(), description="Where its answer says what; plain text without."
    )
    meter: tuple[str, ...] | None = Field(
        default=None,
        description=(
            "Its model calls come through a metered address: anthropic, openai, or models by "
            "name. A single simulated model answers whichever model the agent asks for; real "
            "ones answer to their own names."
        ),
    )
    max_usd: float | None = Field(
        default=None,
        gt=0,
        le=MAX_TURN_USD,
        description="The most that one turn can cost: its hold.",
    )
    expected_usd: float | None = Field(
        default=None, gt=0, le=MAX_TURN_USD, description="What a turn costs, for estimates."
    )
    free: bool = Field(default=False, description="A turn really costs nothing.")
    billing: Literal["own", "equivalent"] = Field(
        default="own",
        description="equivalent: under a subscription; its dollars are not billed, but count.",
    )
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        le=86_400,
        description=(
            "Longest working time of a turn, in seconds; of this and what a test says the shorter. "
            "Without both 600; only `steps` bounds the built-in agent then."
        ),
    )
    pass_env: tuple[Variable, ...] = Field(
        default=(),
        description="Of a command or service: variables that it gets, resolved where it runs. "
        "Their values are taken out of what it says and leaves, inside longer words, too; those of "
        "fewer than 6 characters are not. They are for secrets: a setting goes into the command's "
        "arguments.",
    )
    sandbox: Literal["bubblewrap", "none"] | None = Field(
        default=None,
        description=(
            "Of a command: bubblewrap (unless given), or none: it may do on this machine whatever "
            "its user may."
        ),
    )
    reads: tuple[str, ...] = Field(
        default=(),
        description=(
            "Of a command in a sandbox: folders and files that it may read, beside the system's; "
            "{project} is filled in."
        ),
    )
    network: Literal["none", "open"] = Field(
        default="none",
        description=(
            "Of a command in a sandbox: none but the metered address, or open: this machine's."
        ),
    )
    home: Literal["scratch", "keep", "own"] = Field(
        default="scratch",
        description=(
            "Of a command: empty for each turn, or kept in the session's folder, as .home; without "
            "a sandbox also your own, where a login may be."
        ),
    )
    group: str | None = Field(
        default=None, description="Limit group; agents that share a limit share one."
    )

    @property
    def form(self) -> str:
        """Which of the four it is."""
        return next(name for name in _FORMS if getattr(self, name) is not None)

    @property
    def enclosed(self) -> bool:
        """Whether it works in a sandbox."""
        return self.command is not None and self.sandbox != "none"

    @property
    def most(self) -> NanoUSD:
        """What a turn is held at by itself; 0 if it is free, or its calls are held one by one."""
        return 0 if self.max_usd is None else from_usd(self.max_usd)

    def longest_turn_s(self, asked: float | None) -> float:
        """Seconds that a turn may work: its own bound or the one ``asked`` for, the shorter."""
        bounds = [one for one in (self.timeout_s, asked) if one is not None]
        return min(bounds, default=LONGEST_TURN_S)

    @property
    def expected(self) -> NanoUSD:
        """What a turn is expected to cost."""
        usd = self.max_usd if self.expected_usd is None else self.expected_usd
        return 0 if usd is None else from_usd(usd)

    @property
    def subscribed(self) -> bool:
        """Whether its dollars are what the work would have cost, and no bill."""
        return self.billing == "equivalent"

    @property
    def asks_models(self) -> bool:
        """Whether what it spends are calls of models that the run knows."""
        return self.meter is not None or self.tools is not None

    @model_validator(mode="before")
    @classmethod
    def _one_name_is_a_list(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("meter"), str):
            return {**data, "meter": [data["meter"]]}
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if found := list(_troubles(self)):
            raise ValueError("; ".join(found))
        return self


_FORMS: Final = ("command", "http", "python", "tools")


def _troubles(agent: AgentSpec) -> Iterator[str]:
    """What in an agent does not go together."""
    forms = [name for name in _FORMS if getattr(agent, name) is not None]
    if len(forms) != 1:
        yield f"found {' and '.join(forms) or 'none'} of {', '.join(_FORMS)}; give exactly one"
        return
    form = forms[0]
    yield from _money_troubles(agent, form)
    if agent.tools == ():
        yield f"tools is empty; name some of {', '.join(FOLDER_TOOLS)}"
    if form == "tools" and agent.model is None:
        yield "tools need the model that uses them: give model"
    if form != "tools" and agent.model is not None:
        yield f"model belongs to an agent with tools; a {form} chooses its own"
    if form in ("python", "tools") and agent.answer.is_json:
        yield f"answer is read of a command or service; an agent of {form} has fields of its own"
    yield from _sandbox_troubles(agent, form)
    if form in ("python", "tools") and agent.pass_env:
        yield f"pass_env is of a command or service; an agent of {form} needs none"
    if agent.http is not None:
        yield from _http_troubles(agent.http, agent.pass_env)
    for part in agent.command or ():
        yield from _unknown_places(part, PLACES, "command")


def _money_troubles(agent: AgentSpec, form: str) -> Iterator[str]:
    ways = [name for name in ("meter", "max_usd", "free") if getattr(agent, name)]
    if form == "tools":
        if ways:
            yield f"{ways[0]} does not belong here: the calls of its model are held one by one"
    elif not ways:
        yield "nothing bounds what a turn costs; give max_usd, meter, or free: true"
    elif len(ways) > 1:
        yield f"found {' and '.join(ways)}; give one of them"
    if agent.meter is not None and agent.expected_usd is None:
        yield "a metered agent needs expected_usd: what a turn is expected to cost, for estimates"
    if agent.subscribed and agent.max_usd is None:
        yield "billing: equivalent is of an agent that says its dollars: give max_usd"
    if form == "http" and agent.meter is not None:
        yield "a service does not know of a metered address; give max_usd or free: true"
    if agent.expected_usd and agent.max_usd and agent.expected_usd > agent.max_usd:
        yield f"expects {agent.expected_usd} dollars of a turn, but holds {agent.max_usd}"
    if agent.answer.cost_usd is not None and agent.free:
        yield "answer.cost_usd says what a turn costs, and free: true that it costs nothing"


def _sandbox_troubles(agent: AgentSpec, form: str) -> Iterator[str]:
    walls = {"reads": bool(agent.reads), "network": agent.network == "open"}
    if form != "command":
        more = {"sandbox": agent.sandbox is not None, "home": agent.home != "scratch"}
        for name in (name for name, given in (walls | more).items() if given):
            yield f"{name} is of a command; this is an agent of {form}"
        return
    if agent.enclosed and agent.home == "own":
        yield "home: own is of a command without a sandbox; give sandbox: none, or another home"
    if agent.enclosed and agent.network == "none" and agent.max_usd is not None:
        yield (
            "costs money, but its sandbox has no network to spend it over; give network: open, or "
            "meter instead of max_usd, or sandbox: none"
        )
    if not agent.enclosed:
        for name in (name for name, given in walls.items() if given):
            yield f"{name} belongs to a sandbox, and sandbox is none"
    for path in agent.reads:
        yield from _unknown_places(path, PLACES[:1], "reads")


def _http_troubles(http: HttpForm, pass_env: tuple[str, ...]) -> Iterator[str]:
    if http.id is None and (http.poll is not None or http.reply is not None):
        yield "http.poll and http.reply need http.id: where an answer says the id"
    for name in ("submit", "poll", "reply"):
        places = HTTP_PLACES if name != "submit" else HTTP_PLACES[:-1]
        yield from _unknown_places(getattr(http, name) or "", places, f"http.{name}")
    told = json.dumps(http.body, default=str) + http.submit
    if "{prompt}" not in told:
        yield "http.body has no {prompt}: the service would never hear what is asked"
    for name in dict.fromkeys(_NAMED.findall(told)):
        if (
            "_" not in name
            and name not in HTTP_PLACES
            and (hint := did_you_mean(name, HTTP_PLACES))
        ):
            yield f"http has {{{name}}}; what is filled in: {', '.join(HTTP_PLACES)}{hint}"
    if http.poll is not None and "{id}" not in http.poll:
        yield "http.poll has no {id}: whose state would it ask after?"
    if http.reply is not None and "{id}" not in http.reply + told:
        yield "http.reply has no {id}: whose conversation would go on?"
    if http.poll is not None and not http.done:
        yield "http.done is empty, so no job would ever be over"
    if set(http.done) & set(http.failed):
        yield "a state is in http.done as well as in http.failed"
    for value in http.headers.values():
        for name in re.findall(r"\$(\w+)", value):
            if name not in pass_env:
                yield f"http.headers use ${name}, which is not in pass_env"


def _unknown_places(text: str, known: tuple[str, ...], where: str) -> Iterator[str]:
    for name in _PLACE.findall(text):
        if name not in known:
            yield f"{where} has {{{name}}}; what is filled in: {', '.join(known)}"


def filled(text: str, values: Mapping[str, str]) -> str:
    """``text`` with the names in braces filled in; braces around anything else stay."""
    return _NAMED.sub(lambda found: values.get(found[1], found[0]), text)


def filled_in(value: JSON, values: Mapping[str, str]) -> JSON:
    """A JSON value whose texts are :func:`filled`."""
    match value:
        case str():
            return filled(value, values)
        case Mapping():
            return {key: filled_in(item, values) for key, item in value.items()}
        case list() | tuple():
            return [filled_in(item, values) for item in value]
    return value


def field_at(value: JSON, path: str) -> JSON:
    """The field of a JSON value at a path such as ``usage.cost`` or ``choices.0.text``.

    Raises:
        LookupError: There is none.
    """
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(f"no field {path!r}")
    return value
