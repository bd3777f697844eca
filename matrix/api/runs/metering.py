"""Running one program of somebody's own at a metered address."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from matrix.api.opened import RESULTS, Run
from matrix.api.planning import plan
from matrix.api.runs.lifecycle import start
from matrix.engine.prepare.catalogue import METERED_PROVIDERS, priced_models
from matrix.engine.prepare.keys import ENV_NAME, variables
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.prepare.spec_files import own_spec
from matrix.engine.run.progress import Listener
from matrix.kinds.gateway import GATEWAY, ROLE
from matrix.model.documents.overrides import Override
from matrix.model.errors import BadInput, Mistake
from matrix.providers.key_names import KEY_NAMES

_OF_PROVIDERS: Final = re.compile(
    r"_API_?(?:KEY|TOKEN)S?$|^AZURE_.*KEY|^HF_TOKEN$|^HUGGING_?FACE.*TOKEN|^REPLICATE_.*TOKEN"
    r"|^AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|BEARER_TOKEN\w*)$"
    r"|^GOOGLE_APPLICATION_CREDENTIALS$|^VERTEX_?AI_.*CREDENTIALS"
)
"""Names of variables that open providers which the table of keys does not have."""


class Metered(NamedTuple):
    """What came of a program.

    Attributes:
        run: Its run.
        exit_code: The program's; ``None`` if the run ended before it did.
        requests: Requests that it made.
        capped: Those that the cap refused.
    """

    run: Run
    exit_code: int | None
    requests: int
    capped: int


def plan_gateway(
    command: Sequence[str], *, stand_in: str = "", overrides: Iterable[Override] = ()
) -> Prepared:
    """Prepare a run of one command.

    Args:
        command: Program and arguments.
        stand_in: A model that answers for every name; without one, models are asked by their names.
        overrides: What goes over the spec, lowest first; ``limits.cost_usd`` has to be among it.

    Raises:
        BadInput: Every mistake; no cap was given, or there is no key for any provider.
    """
    given = list(overrides)
    own = list(dict.fromkeys(path[1] for path, _, _ in given if path[0] == "models" and path[1:]))
    listed = [] if stand_in else [*_listed(os.environ), *map(str, own)]
    mistakes = []
    if not any(path == ("limits", "cost_usd") for path, _, _ in given):
        told = "say how much the command may spend in US dollars, e.g. --max-cost 5"
        mistakes.append(Mistake("--max-cost", None, "", told))
    if not listed and not stand_in:
        keys = " or ".join(KEY_NAMES[provider][0] for provider in METERED_PROVIDERS)
        told = f"there is no key to forward requests with: set {keys}, here or in {ENV_NAME}"
        mine = (
            "or name a model of your own: --set 'models.mine={target: openai/mine, api_base: "
            '"http://127.0.0.1:8000/v1", price: {input: 3, output: 15}}\''
        )
        told = f"{told}; or rehearse: --model sim/opus-4.5; {mine}"
        mistakes.append(Mistake("models", None, "", told))
    if shutil.which(command[0]) is None:
        told = f"found {command[0]!r}, which is no program here; install it, or give its path"
        mistakes.append(Mistake("COMMAND", None, "", told))
    if mistakes:
        raise BadInput(mistakes)
    listed_keys = {name for names in KEY_NAMES.values() for name in names}
    hidden = sorted(listed_keys | {name for name in os.environ if _opens_a_provider(name)})
    options = {
        "command": list(command),
        "models": listed,
        "stand_in": stand_in,
        "hidden": hidden,
    }
    layers: list[Override] = [(("options", name), value, "") for name, value in options.items()]
    if stand_in:
        layers.append((("roles", ROLE), stand_in, "--model"))
    return plan(own_spec(GATEWAY), overrides=[*layers, *given])


def _opens_a_provider(variable: str) -> bool:
    """Whether a variable is likely to hold what some provider of models asks for."""
    return bool(_OF_PROVIDERS.search(variable.upper()))


def gateway(
    prepared: Prepared,
    *,
    results: str | Path = RESULTS,
    run_id: str | None = None,
    listener: Listener | None = None,
    clock: Callable[[], float] = time.time,
) -> Metered:
    """Run a prepared command to its end, with its requests metered.

    Raises:
        BadInput, RunExists, StoreError: As :func:`matrix.api.start`.
    """
    run = start(
        prepared,
        results=results,
        run_id=run_id,
        executor="in-process",
        listener=listener,
        clock=clock,
    )
    ended = run.file.command
    if ended is None:
        return Metered(run, None, _asked(run), 0)
    return Metered(run, ended.exit_code, ended.requests, ended.capped)


def _asked(run: Run) -> int:
    """Requests of a run that ended before its command: only its calls know."""
    return len(run.frame("calls", ["phase", "turn", "slot"]).drop_duplicates())


def _listed(environment: Mapping[str, str]) -> list[str]:
    """Every priced model of the providers whose keys are there."""
    known = variables(Path.cwd() / ENV_NAME, environment)
    keyed = [one for one in METERED_PROVIDERS if any(known.get(name) for name in KEY_NAMES[one])]
    return [name for provider in keyed for name in priced_models(provider)]
