"""What a run or a file from elsewhere does only where its user says so.

A plan names addresses, variables that hold keys, programs, code and prices. In a run that its user
made, and in a spec that its user runs, these are the user's own words; in what somebody else sent
they are a stranger's, and none of it is done unasked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from matrix.admission.tariffs import Tariff
from matrix.engine.prepare.catalogue import UnknownModel, list_price
from matrix.engine.prepare.keys import sendings
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.providers import AGENT, LITELLM
from matrix.engine.wire.setup import ModelEntry
from matrix.kinds.protocol import KEPT_KIND, HoldsCode
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import BadInput, Mistake
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.spec.agents import AgentSpec

_CAPS: Final[frozenset[PathKey]] = frozenset({("limits", "cost_usd"), ("limits", "budget")})
_SHOWN: Final = 200
_ATTO_PER_MTOK: Final = 10**12


def require_trust(
    prepared: Prepared, source: str, given: Collection[PathKey], *, trusted: bool
) -> None:
    """See that a run from elsewhere may do what it says, before anything is started.

    Args:
        prepared: The run, or what goes on from it.
        source: What came from elsewhere, for messages.
        given: Which limits this user has given: a cap that a file says is none.
        trusted: Whether this user has said that all of it may be done.

    Raises:
        BadInput: Everything that would have to be asked for, and that no cap is given.
    """
    mistakes = [
        Mistake(source, None, place, f"{told}, and comes from elsewhere; if that is meant: --trust")
        for place, told in ([] if trusted else _unasked(prepared))
    ]
    spend = [name for name, entry in prepared.models.items() if _costs(entry, prepared)]
    if spend and not _CAPS & set(given):
        more = f" and {len(spend) - 3} more" if len(spend) > 3 else ""
        told = f"asks {', '.join(spend[:3])}{more}, and comes from elsewhere"
        cap = "say what it may cost at most: --max-cost USD"
        mistakes.append(Mistake(source, None, "limits", f"{told}; {cap}"))
    if mistakes:
        raise BadInput(mistakes)


def require_code_trusted(moments: Sequence[Checkpoint], source: str, *, trusted: bool) -> None:
    """See that sessions from elsewhere may run the code that they bring, before it is run.

    Raises:
        BadInput: They bring some, and this user has not said that it may be.
    """
    brought = dict.fromkeys(one.plan.kind for one in moments if KEPT_KIND in one.texts)
    if brought and not trusted:
        told = "and comes from elsewhere; if that is meant: --trust"
        raise BadInput(
            Mistake(source, None, "kind", f"runs the Python code of {name}, {told}")
            for name in brought
        )


def _costs(entry: ModelEntry, prepared: Prepared) -> bool:
    if entry.provider == AGENT:
        return any(not one.free for one in prepared.agents.values())
    return entry.provider == LITELLM


def _unasked(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Place in the spec, and what would be done."""
    for told in sendings(prepared.models):
        yield "models", told
    for name, entry in prepared.models.items():
        if entry.provider != LITELLM:
            continue
        if entry.api_base and not entry.api_key_env:
            yield f"models.{name}", f"sends what it is asked to {entry.api_base}"
        told = f"counts {entry.target} at {_price(entry.tariff)} a million tokens"
        try:
            if entry.tariff != (known := list_price(entry.target)):
                yield f"models.{name}", f"{told}, where the list has {_price(known)}"
        except UnknownModel:  # no cap holds by a price that only a stranger knows
            yield f"models.{name}", f"{told}, and no list knows that model"
    for name, agent in prepared.agents.items():
        if told := _program(agent):
            yield f"agents.{name}", told
    yield from _code(prepared)


def _price(tariff: Tariff) -> str:
    """Dollars for a million tokens read, and written."""
    each = (rate / _ATTO_PER_MTOK for rate in tariff.rates[:2])
    return " and ".join(f"${one:g}" for one in each)


def _program(agent: AgentSpec) -> str:
    keys = f" and gives it {', '.join(agent.pass_env)}" if agent.pass_env else ""
    if agent.command is not None:
        return f"runs {' '.join(agent.command)[:_SHOWN]!r}{keys}"
    if agent.http is not None:
        return f"sends its work to {agent.http.submit[:_SHOWN]!r}{keys}"
    return f"runs the Python function {agent.python!r}" if agent.python is not None else ""


def _code(prepared: Prepared) -> Iterator[tuple[str, str]]:
    kind = prepared.kind
    if not isinstance(kind, HoldsCode):
        return
    for cell in prepared.plan.cells:
        texts: Mapping[str, object] = {
            name: prepared.resources[key]
            for name, key in cell.resources.items()
            if key in prepared.resources
        }
        if told := kind.holds_code(texts, cell.options):
            yield f"scenarios.{cell.scenario}", told
            return
