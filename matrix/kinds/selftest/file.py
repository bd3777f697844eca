"""The file of a self-test (``config/selftest.yaml``): a form of its own, read as a run spec.

It is read into a run spec and a pack for each of its cases; keys of a run spec (``agents``,
``limits``, ``factors`` ...) may stand in it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from matrix.kinds.protocol import FileOption, FileRequest, ReadFile, ScenarioPack
from matrix.kinds.selftest.generating import unsafe_among, unsafe_words
from matrix.kinds.selftest.settings import (
    GENERATOR,
    JUDGE,
    KEPT,
    SELFTEST,
    SMALL_CAP_USD,
    SYSTEM,
    AskedModelSettings,
    Case,
    PassRules,
    SelftestFile,
)
from matrix.kinds.selftest.statuses import never_reached
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, check
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import read_plain
from matrix.model.records import JSON
from matrix.model.spec.run_spec import RunSpec

OF_A_SPEC: Final = frozenset(RunSpec.model_fields) - {"version", "kind", "scenarios"}
"""Keys of a run spec that may stand in the file."""


FIRST, TIMEOUT, FULL, PROMPTS = "--scenarios", "--timeout", "--full", "--prompts-from"

FILE_OPTIONS: Final = (
    FileOption(FIRST, "N", "Only the first N cases."),
    FileOption(TIMEOUT, "SECONDS", "Longest wait for an answer of the system."),
    FileOption(FULL, "", "All cases, which is what is played without --scenarios."),
    FileOption(
        PROMPTS,
        "RUN",
        "Send the requests of a run again, round by round; others get new ones.",
    ),
)
"""What the command line takes for such a file."""

MOST_ROUNDS: Final = 100_000
"""Of a report, whose requests are sent again."""
REPORTS: Final = Path("reports") / SELFTEST
"""Where in a project the cases of each run are written to."""


def is_selftest(value: JSON) -> bool:
    """Whether a file without a kind is a self-test: its scenarios are cases."""
    if not isinstance(value, dict) or "kind" in value:
        return False
    cases = value.get("scenarios")
    marks = {"strictness", "min_score_to_pass", "timeout_seconds", "max_questions_allowed"}
    return bool(marks & value.keys()) or (
        isinstance(cases, list) and any(isinstance(c, dict) and "description" in c for c in cases)
    )


def read_selftest(request: FileRequest) -> ReadFile:
    """The run spec and the packs of a file.

    Raises:
        BadInput: Every mistake in it, and in the options that were given.
    """
    document, mistakes = request.document, Mistakes()
    read = mistakes.collect(lambda: _read(document))
    first = mistakes.collect(lambda: _first(request.given))
    timeout_s = mistakes.collect(lambda: _timeout(request.given))
    kept = mistakes.collect(lambda: _kept_requests(request))
    mistakes.stop_if_any()
    assert read is not None
    cases = dict(list(read.packs.items())[:first])
    params = {**read.spec["params"]}
    if timeout_s:
        params[SYSTEM] = {**(params.get(SYSTEM) or {}), "timeout_s": timeout_s}
    if kept and not kept.keys() & cases.keys():
        told = f"has none of these cases, but {', '.join(sorted(kept))}"
        raise BadInput([Mistake(PROMPTS, None, "", told)])
    for name in cases.keys() & (kept or {}).keys():
        if cases[name].content["prompt"]:
            continue  # its own request stands in the file, and may have been mended since
        sent = [one["prompt"] for one in (kept or {})[name] if isinstance(one, Mapping)]
        if not cases[name].content["unscreened"] and (why := unsafe_among(map(str, sent))):
            # the file may be anybody's, and was not screened when it was read
            raise BadInput([Mistake(PROMPTS, None, "", f"{name}: {why}")])
        content = {**cases[name].content, KEPT: (kept or {})[name]}
        cases[name] = replace(cases[name], content=content)
    return ReadFile({**read.spec, "params": params, "scenarios": list(cases)}, cases)


def _first(given: Mapping[str, str | bool]) -> int | None:
    """How many cases are wanted; ``None`` for all."""
    text = given.get(FIRST)
    if text is None:
        return None
    if FULL in given:
        raise BadInput([Mistake(FIRST, None, "", f"is given with {FULL}; give one of the two")])
    if not (str(text).isdecimal() and int(text) > 0):
        told = f"found {text!r}; it is a number of cases from 1 on"
        raise BadInput([Mistake(FIRST, None, "", told)])
    return int(text)


def _timeout(given: Mapping[str, str | bool]) -> float:
    """Seconds for an answer; 0 if nothing was said."""
    text = given.get(TIMEOUT)
    if text is None:
        return 0.0
    try:
        return SelftestFile.model_validate(
            {"timeout_seconds": text, "scenarios": [{"id": "a", "description": "a"}]}
        ).timeout_seconds
    except ValidationError:
        told = f"found {text!r}; it is a number of seconds above 0, at most 86400"
        raise BadInput([Mistake(TIMEOUT, None, "", told)]) from None


def _kept_requests(request: FileRequest) -> dict[str, list[JSON]]:
    """Case -> request and hints of each round of an earlier run, by the file about that run."""
    name = request.given.get(PROMPTS)
    if name is None:
        return {}
    folder = request.project / REPORTS
    runs = {path.stem: path for path in sorted(folder.glob("*.json"))}
    meant = [run for run in runs if run == name] or [
        run for run in runs if run.startswith(f"{name}")
    ]
    if name == "last" and runs:
        meant = [max(runs, key=lambda run: runs[run].stat().st_mtime)]
    if len(meant) != 1:
        what = "several runs begin so" if meant else "no such run"
        told = f"found {name!r}; {what}; in {REPORTS} there are: {', '.join(runs) or 'none'}"
        raise BadInput([Mistake(PROMPTS, None, "", told)])
    try:
        cases = orjson.loads(read_plain(runs[str(meant[0])]))["cases"]
        return _by_round(case for case in cases if case.get("prompt"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        told = f"{runs[str(meant[0])]} is not as this kind writes it"
        raise BadInput([Mistake(PROMPTS, None, "", told)]) from None


def _by_round(cases: Iterable[Mapping[str, Any]]) -> dict[str, list[JSON]]:
    """Requests by case and round; variants of a round were sent the same, and the first counts.

    Raises:
        ValueError: A round that no run has.
    """
    found: dict[str, list[JSON]] = {}
    for case in cases:
        rounds, number = found.setdefault(str(case["id"]), []), int(case.get("round", 0))
        if not 0 <= number < MOST_ROUNDS:
            raise ValueError(number)
        rounds += [None] * (number + 1 - len(rounds))
        rounds[number] = rounds[number] or {
            "prompt": str(case["prompt"]),
            "hints": str(case["hints"]),
        }
    return found


def _read(document: Document) -> ReadFile:
    """What the file says, without options.

    Raises:
        BadInput: Every mistake in it.
    """
    value = document.value
    file = check(document, SelftestFile, also=OF_A_SPEC)
    if twice := [case.id for case in file.scenarios if _count(file, case.id) > 1]:
        told = f"the id {twice[0]!r} is given twice; every case has its own"
        raise BadInput([document.mistake(("scenarios",), told)])
    unsafe = Mistakes(document)
    for number, case in enumerate(file.scenarios):
        if why := unsafe_words(case):
            unsafe.fault(("scenarios", number), why)
    unsafe.stop_if_any()
    spec = {name: item for name, item in value.items() if name in OF_A_SPEC}
    agents = list(spec.get("agents") or {})
    in_a_role = orjson.dumps([spec.get("roles"), spec.get("factors"), _roles(file)], default=str)
    if agents and not any(name.encode() in in_a_role for name in agents):
        told = (
            f"agents has {', '.join(agents)}, and none of them is tested; say system: {agents[0]}"
        )
        raise BadInput([document.mistake(("agents",), told)])
    statuses = Mistakes(document)
    if (spec.get("options") or {}).get("status_must_match", file.status_must_match):
        tested = _tested(file, spec)
        for path, told in never_reached(file.scenarios, spec.get("agents") or {}, tested):
            statuses.fault(path, told)
    statuses.stop_if_any()
    rules = {name: value[name] for name in PassRules.model_fields if name in value}
    return ReadFile(
        {
            "name": SELFTEST,
            "kind": SELFTEST,
            "scenarios": [case.id for case in file.scenarios],
            "at_cap": "spend-all",
            **({} if {"per_cell", "sessions"} & spec.keys() else {"per_cell": 1}),
            **spec,
            "limits": {"cost_usd": SMALL_CAP_USD, "turns": 21, **(spec.get("limits") or {})},
            "roles": {**_roles(file), **(spec.get("roles") or {})},
            "params": {
                **_params(file, spec.get("agents") or {}, _levels(spec)),
                **(spec.get("params") or {}),
            },
            "options": {**rules, **(spec.get("options") or {})},
        },
        {case.id: pack_of(case.id, case) for case in file.scenarios},
    )


def pack_of(name: str, case: Case) -> ScenarioPack:
    """A case as a pack."""
    content: Mapping[str, Any] = case.model_dump(mode="json", exclude={"id"})
    fields = {
        **(case.model_extra or {}),
        "expected_status": case.expected_status,
        "requires_reply": case.requires_reply,
    }
    fields.pop("id", None)
    return ScenarioPack(name, SELFTEST, case.title or name, case.description, content, fields)


def _count(file: SelftestFile, name: str) -> int:
    return sum(case.id == name for case in file.scenarios)


def _roles(file: SelftestFile) -> dict[str, str]:
    named = {GENERATOR: file.generator.model, SYSTEM: file.system, JUDGE: file.judge.model}
    return {role: model for role, model in named.items() if model is not None}


def _tested(file: SelftestFile, spec: Mapping[str, Any]) -> list[str]:
    """Names of all systems that are tested, where the file says them."""
    role = (spec.get("roles") or {}).get(SYSTEM, file.system)
    return _levels(spec) or ([role] if isinstance(role, str) else [])


def _levels(spec: Mapping[str, Any]) -> list[str]:
    """Systems that are compared, if several are."""
    factors = spec.get("factors")
    levels = factors.get(SYSTEM) if isinstance(factors, dict) else None
    return [one for one in levels if isinstance(one, str)] if isinstance(levels, list) else []


def _params(
    file: SelftestFile, agents: Collection[str], levels: Collection[str]
) -> dict[str, dict[str, JSON]]:
    # an agent has a longest turn of its own, which a default that nobody wrote must not cut
    waits = "timeout_seconds" in file.model_fields_set or not {file.system, *levels} & {*agents}
    return {
        GENERATOR: dict(_given(file.generator)),
        SYSTEM: {"timeout_s": file.timeout_seconds} if waits else {},
        JUDGE: dict(_given(file.judge)),
    }


def _given(settings: AskedModelSettings) -> Iterator[tuple[str, JSON]]:
    for name in ("temperature", "max_tokens"):
        if (value := getattr(settings, name)) is not None:
            yield name, value
