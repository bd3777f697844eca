"""Keys of providers: where they are looked for, and which are missing, without showing any.

A key is looked for in the environment and then in the project's ``.env``. Only the process that
sends requests takes it from there; what is passed between processes and written to disk is the
path of the file.
"""

from __future__ import annotations

import io
import re
import stat
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import orjson
from dotenv import dotenv_values
from dotenv.parser import parse_stream

from matrix.engine.wire.messages import ProviderClosed
from matrix.engine.wire.providers import LITELLM
from matrix.engine.wire.setup import ModelEntry
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import MOST_TEXT_BYTES, read_plain
from matrix.providers.key_names import KEY_NAMES, key_names
from matrix.providers.price_map import bundled
from matrix.store.run.run_folder import resume_command
from matrix.telemetry.redaction import Redactor, is_named_like_a_key, secrets_in
from matrix.telemetry.spellings import SHORTEST_SECRET

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared
    from matrix.model.spec.agents import AgentSpec

ENV_NAME: Final = ".env"
_SHOWN: Final = 200
_SURELY_A_KEY: Final = 12
"""Shorter values of variables that are named like keys may be ordinary words of a text."""
_KEPT: Final = "it would be sent to models, and kept in the run's folder; take it out"


class KeyNeed(NamedTuple):
    """What a model needs.

    Attributes:
        model: Name of the model.
        names: Variables of which one must be set; empty if none is needed, ``None`` if unknown.
        found: The variable that is set, if there is one.
    """

    model: str
    names: tuple[str, ...] | None
    found: str | None

    @property
    def missing(self) -> bool:
        """Whether a key is needed that is nowhere."""
        return bool(self.names) and self.found is None


def key_needs(
    models: Mapping[str, ModelEntry], variables: Mapping[str, str]
) -> tuple[KeyNeed, ...]:
    """What each real model needs, and whether ``variables`` have it."""
    needs = []
    for model, entry in models.items():
        if entry.provider == LITELLM:
            names = _names(entry)
            found = next((name for name in names or () if variables.get(name)), None)
            needs.append(KeyNeed(model, names, found))
    return tuple(needs)


def key_remedy(need: KeyNeed, env_file: Path) -> str:
    """What somebody whose key is missing has to do."""
    assert need.names
    others = f" (or {', '.join(need.names[1:])})" if need.names[1:] else ""
    return f"set {need.names[0]}{others} in the environment or in {env_file}"


def provider_closed(news: ProviderClosed, prepared: Prepared, run_dir: Path) -> str:
    """Why nothing more is asked of a provider, and what somebody has to do about it."""
    if not news.silent:
        return _account_refused(news, prepared, run_dir)
    entry = prepared.models[news.model]
    place = f" at {entry.api_base}" if entry.api_base else ""
    return (
        f"{news.group} has not answered for a quarter of an hour ({entry.target}{place}): "
        f"{news.reason or 'no reason given'}\n"
        f"When it does again, `{resume_command(run_dir)}` goes on with every session that is open."
    )


def _account_refused(news: ProviderClosed, prepared: Prepared, run_dir: Path) -> str:
    """What an account that is refused means, and what somebody has to do about it."""
    entry = prepared.models[news.model]
    names = _names(entry) if entry.provider == LITELLM else None
    key = f"the key in {' or '.join(names)}" if names else "its key"
    place = f" at {entry.api_base}" if entry.api_base else ""
    return (
        f"{news.group} refuses this account again and again ({entry.target}{place}): "
        f"{_sentence(news.reason or 'no reason given')}\n"
        f"See to {key}, to its credit and to what it may use; then `{resume_command(run_dir)}` "
        "goes on with every session that is open."
    )


def _sentence(reason: str) -> str:
    """A provider's words with a full stop, since they are read in one line with what follows."""
    return reason if reason.rstrip().endswith((".", "!", "?")) else f"{reason.rstrip()}."


def require_keys(prepared: Prepared, environment: Mapping[str, str]) -> None:
    """See that every model's key is there, before anything is started.

    Raises:
        BadInput: One line for each model whose key is missing, or every bad line of the ``.env``.
    """
    if not any(entry.provider == LITELLM for entry in prepared.models.values()):
        return
    needs = key_needs(prepared.models, variables(prepared.env_file, environment))
    metered = {name for entry in prepared.models.values() for name in entry.asks}
    missing: dict[tuple[str, ...] | None, list[KeyNeed]] = {}
    for need in needs:
        if need.missing:
            behind = need.model in metered  # hundreds, of which any may be asked: told once
            missing.setdefault(need.names if behind else (need.model,), []).append(need)
    mistakes = []
    for first, *others in missing.values():
        more = f" (and {len(others)} more)" if others else ""
        told = f"has no key; {key_remedy(first, prepared.env_file)}"
        mistakes.append(Mistake(prepared.source, None, f"model {first.model}{more}", told))
    if mistakes:
        raise BadInput(mistakes)


def require_no_keys(prepared: Prepared, environment: Mapping[str, str], explains: str = "") -> None:
    """See that no text of a run holds a key: it would be sent to models, and kept.

    ``explains`` is the run whose failures are read in it, if it is made for that.

    Raises:
        BadInput: One does: the variable is named, and the key is not shown.
    """
    asks = prepared.agents or any(one.provider == LITELLM for one in prepared.models.values())
    known = variables(prepared.env_file, environment) if asks else environment
    named = {entry.api_key_env or "" for entry in prepared.models.values()}
    named |= {name for agent in prepared.agents.values() for name in agent.pass_env}
    keys = {
        name: Redactor([value])
        for name, value in known.items()
        if len(value) >= _SURELY_A_KEY and secrets_in({name: value}, named & {name})
    }
    places = {
        key: f"{name} of {cell.scenario}"
        for cell in prepared.plan.cells
        for name, key in cell.resources.items()
    }
    texts = [(places.get(key, "a text"), text) for key, text in prepared.resources.items()]
    mistakes, any_of_them = [], Redactor(known[name] for name in keys).finder
    for place, text in [*texts, ("the run spec", prepared.spec.model_dump(mode="json"))]:
        content = orjson.dumps(text)
        if not any_of_them.may_be_in(content):
            continue
        mistakes += [
            Mistake(
                explains or prepared.source,
                None,
                "what failed in it" if explains else place,
                f"holds the value of {name}: {_KEPT}",
            )
            for name, redactor in keys.items()
            if redactor.finder.spans(content)
        ]
    if mistakes:
        raise BadInput(mistakes)


def _names(entry: ModelEntry) -> tuple[str, ...] | None:
    if entry.api_key_env is not None:
        return (entry.api_key_env,)
    if entry.api_base is not None:
        return ()  # so that no provider's key is sent to somebody else's address
    prefix, slash, _ = entry.target.partition("/")
    if slash:
        return key_names(prefix)
    facts = bundled().find(entry.target)
    return None if facts is None else key_names(facts.provider)


def keys_among(variables: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """The variables that hold keys of providers, with their values.

    Args:
        variables: All variables.
        more: Names that hold keys, besides the usual ones.
    """
    more = set(more)
    return {
        name: value
        for name, value in variables.items()
        if len(value) >= SHORTEST_SECRET and _is_providers(name, more)
    }


def named_in(models: Mapping[str, ModelEntry]) -> set[str]:
    """The variables that models name as those of their keys."""
    return {entry.api_key_env for entry in models.values() if entry.api_key_env}


def _is_providers(name: str, named: Collection[str]) -> bool:
    known = name in named or any(name in names for names in KEY_NAMES.values())
    return known or name.upper().endswith("_API_KEY")


# --- the file -----------------------------------------------------------------------------------


def env_variables(path: Path) -> dict[str, str]:
    """Variables of a ``.env`` file, values as they are written; none if there is no such file.

    Raises:
        BadInput: Lines that are no ``NAME=VALUE``, or the file cannot be read. The message never
            repeats a line: it may hold a key.
    """
    try:
        text = read_plain(path, MOST_TEXT_BYTES).decode()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput([Mistake(str(path), None, "", f"cannot be read: {reason}")]) from None
    wrong = [
        Mistake(str(path), line, "", "not of the form NAME=VALUE")
        for binding in parse_stream(io.StringIO(text))
        if binding.error or (binding.key is not None and binding.value is None)
        for line in [_first_line(binding.original.string, binding.original.line)]
    ]
    if wrong:
        raise BadInput(wrong)
    found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in found.items() if value is not None}


def variables(path: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """What a process that sends requests will find: the environment, and under it the ``.env``.

    Raises:
        BadInput: As :func:`env_variables`.
    """
    return {**env_variables(path), **environment}


def known_secrets(env_file: Path, environment: Mapping[str, str]) -> frozenset[str]:
    """Values of keys in the environment and in a ``.env``, as far as that can be read."""
    try:
        return secrets_in(variables(env_file, environment))
    except BadInput:
        return secrets_in(environment)


def supply(path: Path, environment: MutableMapping[str, str], named: Collection[str] = ()) -> None:
    """Add the keys in a ``.env`` file to this process's environment, which wins where both speak.

    Keys only: a file that comes with somebody's project must not say where they are sent. A file
    that is not on this machine adds nothing, so that a cluster's nodes can have their keys in the
    environment.

    Args:
        path: The file.
        environment: Where they are added.
        named: Variables that models name as theirs, whatever they are called.

    Raises:
        BadInput: As :func:`env_variables`.
    """
    for name, value in env_variables(path).items():
        if _is_key(name, named):
            environment.setdefault(name, value)


def left_out(path: Path, environment: Mapping[str, str], named: Collection[str] = ()) -> list[str]:
    """The variables of a ``.env`` file that are not taken from it, and are nowhere else.

    Raises:
        BadInput: As :func:`env_variables`.
    """
    return [
        name for name in env_variables(path) if name not in environment and not _is_key(name, named)
    ]


def _is_key(name: str, named: Collection[str]) -> bool:
    return _is_providers(name, named) or is_named_like_a_key(name)


def handed(models: Mapping[str, ModelEntry], agents: Mapping[str, AgentSpec]) -> list[str]:
    """What agents are given, and which other machines are sent what is asked, in words.

    Keys of models are those of :func:`sendings`.
    """
    told = []
    for name, entry in models.items():
        base = entry.api_base or ""
        asks = entry.provider == LITELLM and base and not entry.api_key_env
        if asks and not _is_here(base):
            told.append(f"sends what it is asked to {_origin(base)} ({name})")
    for name, agent in agents.items():
        keys = f"the variable{'s' * (len(agent.pass_env) > 1)} {', '.join(agent.pass_env)}"
        if agent.http is not None:
            urls = list(filter(None, (agent.http.submit, agent.http.poll, agent.http.reply)))
            to = " and ".join(dict.fromkeys(map(_origin, urls)))
            if agent.pass_env:
                told.append(f"sends its work, and may send {keys}, to {to} (agent {name})")
            elif not all(map(_is_here, urls)):
                told.append(f"sends its work to {to} (agent {name})")
        elif agent.command is not None and agent.pass_env:
            told.append(f"gives {keys} to {' '.join(agent.command)[:_SHOWN]!r} (agent {name})")
        if agent.command is not None and agent.reads:
            shown = f"{', '.join(agent.reads)[:_SHOWN]} to {' '.join(agent.command)[:_SHOWN]!r}"
            told.append(f"shows {shown} (agent {name})")
    return told


def notes_on_variables(prepared: Prepared, environment: Mapping[str, str]) -> list[str]:
    """Variables that agents are to be given and that are not set here, or are no secrets, in words.

    A run is refused for what is not set, wherever it is started; a plan may be made elsewhere.
    Nothing is said where the ``.env`` cannot be read, which is told by whoever needs it.
    """
    try:
        known = variables(prepared.env_file, environment)
    except BadInput:
        return []
    missing: dict[str, list[str]] = {}
    plain: dict[str, list[str]] = {}
    for name, agent in prepared.agents.items():
        for variable in agent.pass_env:
            value = known.get(variable)
            if not value:
                missing.setdefault(variable, []).append(name)
            elif _WORD.fullmatch(value) and not is_named_like_a_key(variable):
                plain.setdefault(variable, []).append(name)
    return [
        f"{variable} is not set here, and a run is refused without it (pass_env of agent "
        f"{', '.join(names)}); set it in the environment or in {prepared.env_file}"
        for variable, names in missing.items()
    ] + [
        f"the value of {variable} (pass_env of agent {', '.join(names)}) is taken for a secret, "
        "and cut out of all that the agent says and of every file that it leaves, inside longer "
        "words, too, before anything is checked; it looks like a setting or a plain word: give "
        "such in the command's arguments instead"
        for variable, names in plain.items()
    ]


_WORD: Final = re.compile(r"[A-Za-z]?[a-z]{5,19}|(?=.{6,30}\Z)[a-z]+(?:[-_/][a-z0-9.]+)+")
"""What hardly is a key: a word, or words and numbers as names of models are put together."""


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _is_here(url: str) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def sendings(
    models: Mapping[str, ModelEntry], environment: Mapping[str, str] | None = None
) -> list[str]:
    """Keys that do not go from a provider's own variable to the provider's own address, in words.

    Args:
        models: The run's models.
        environment: Variables in which addresses are looked for that go over the provider's own.
    """
    told: dict[tuple[str, str], list[str]] = {}
    for model, entry in models.items():
        if entry.provider != LITELLM or (entry.api_base and not entry.api_key_env):
            continue  # to an address of one's own goes no key but the one that is named for it
        provider = entry.target.partition("/")[0]
        own = key_names(provider) or ()
        variable = entry.api_key_env or next(iter(own), "")
        address = entry.api_base or _address_in(environment or {}, provider)
        if variable and (address or variable not in own):
            told.setdefault((variable, address or provider), []).append(model)
    return [
        f"sends the key in {variable} to {address} ({', '.join(names[:3])}"
        f"{f' and {len(names) - 3} more' if len(names) > 3 else ''})"
        for (variable, address), names in told.items()
    ]


def _address_in(environment: Mapping[str, str], provider: str) -> str:
    prefix = provider.upper()
    return environment.get(f"{prefix}_BASE_URL") or environment.get(f"{prefix}_API_BASE") or ""


def open_to_others(path: Path) -> bool:
    """Whether a file is there that other users of this machine may read."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return bool(mode & (stat.S_IRGRP | stat.S_IROTH))


def _first_line(text: str, number: int) -> int:
    """The line on which a binding begins: blank lines before it belong to its text."""
    return number + len(text[: len(text) - len(text.lstrip())].splitlines())
