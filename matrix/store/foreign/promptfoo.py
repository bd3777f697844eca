"""promptfoo's results: what ``promptfoo eval -o results.json`` writes, today and in version 2."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matrix.model.lines import in_line
from matrix.store.foreign.results import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_ROWS,
    ForeignResults,
    ForeignRow,
    RowFaults,
)
from matrix.store.foreign.tabular.numbers import number_of

_LABEL: Final = 60
"""Characters of a prompt's label up to which a variant is called by it."""
_ERRED: Final = 2
"""``failureReason`` of a result that is an error, and no answer that fell short."""
MOST_AMOUNT: Final = 1e9


def results_in(value: Any) -> Sequence[Any] | None:
    """The list of results; ``None`` where a file is none of promptfoo's."""
    if not isinstance(value, dict):
        return None
    inner = value.get("results")
    found = inner.get("results") if isinstance(inner, dict) else inner
    if isinstance(found, list) and all(
        isinstance(one, dict) and "provider" in one and ("success" in one or "score" in one)
        for one in found[:20]
    ):
        return found
    return None


def are_results(lines: Sequence[Any]) -> bool:
    """Whether JSON lines are results of promptfoo: each is one, as in its list of them."""
    return bool(lines) and all(
        isinstance(one, dict)
        and {"provider", "success"} <= one.keys()
        and not {"gradingResult", "testIdx", "promptIdx"}.isdisjoint(one.keys())
        for one in lines
    )


def read_promptfoo(source: str, found: Sequence[Any]) -> ForeignResults:
    """Its results: variants are providers and prompts, units are tests by their variables.

    A test that was repeated has the same variables, so its results are repeats of one unit.

    Raises:
        BadInput: Every mistake.
    """
    faults = RowFaults(source, "results")
    if not found:
        faults.say(None, "results", "is empty")
    if len(found) > MOST_ROWS:
        faults.say(None, "results", f"has more than {MOST_ROWS:,} results")
        faults.stop_if_any()
    objects = [(n, one) for n, one in enumerate(found) if isinstance(one, dict)]
    if len(objects) < len(found):
        faults.say(None, "results", "has what is no object")
    names = _prompt_names([one for _, one in objects])
    times: dict[tuple[str, tuple[str, ...]], int] = {}
    rows = []
    for number, one in objects:
        row = _row(source, number, one, names, faults)
        key = (row.unit, row.levels)
        times[key] = times.get(key, 0) + 1
        rows.append(row._replace(repeat=str(times[key])))
    faults.stop_if_any()
    if not any(number_of(one.get("score")) is not None for _, one in objects):
        score = "success"
    else:
        score = "score"
    taken = (
        ("variant", "provider, prompt"),
        ("unit", "the test, by its variables"),
        ("score", score),
        ("cost", "cost, in US dollars"),
    )
    form = "results of promptfoo"
    return ForeignResults(form, ("provider", "prompt"), rows, "test", taken, tells_failures=True)


def _row(
    source: str, number: int, one: Mapping[str, Any], names: Mapping[str, str], faults: RowFaults
) -> ForeignRow:
    where = f"results[{number}]"
    response = one.get("response")
    response = response if isinstance(response, dict) else {}

    def amount(value: Any, field: str) -> float | None:
        read = number_of(value)
        if isinstance(read, str) or (read is not None and not 0 <= read <= MOST_AMOUNT):
            told = read if isinstance(read, str) else f"found {read:g}; must be 0 to 1e9"
            faults.say(number, field, told)
            return 0.0
        return read

    score = number_of(one.get("score"))
    if isinstance(score, str):
        faults.say(number, "score", score)
        score = None
    passed = one.get("success")
    error = _error_of(one, response)
    if score is None and isinstance(passed, bool) and not error:
        score = float(passed)
    named = one.get("namedScores")
    metrics = {
        in_line(str(name)[:LONGEST_NAME]): read
        for name, value in (named.items() if isinstance(named, dict) else ())
        if isinstance(read := number_of(value), float)
    }
    if isinstance(passed, bool):
        metrics["passed"] = float(passed)
    usage = response.get("tokenUsage")
    usage = usage if isinstance(usage, dict) else {}
    cost = one.get("cost") if one.get("cost") is not None else response.get("cost")
    return ForeignRow(
        where=f"{source}: {where}",
        unit=_unit(one),
        levels=(_provider(one, number, faults), names[_prompt_key(one)[0]]),
        score=None if error else score,
        error=error,
        cost_usd=amount(cost, "cost"),
        duration_s=(amount(one.get("latencyMs"), "latencyMs") or 0.0) / 1000,
        tokens_in=int(amount(usage.get("prompt"), "tokenUsage.prompt") or 0.0),
        tokens_out=int(amount(usage.get("completion"), "tokenUsage.completion") or 0.0),
        metrics=metrics,
        said=tuple(
            (who, text[:LONGEST_TEXT])
            for who, text in (("user", _raw_prompt(one)), ("assistant", _said(response)))
            if text
        ),
    )


def _error_of(one: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    """Why there is no answer; an answer that fell short is told as an error too, and is none."""
    reason, error = one.get("failureReason"), one.get("error")
    text = error if isinstance(error, str) else ""
    if isinstance(reason, int):
        return (text or "error") if reason == _ERRED else ""
    return text if text and response.get("output") is None else ""


def _said(response: Mapping[str, Any]) -> str:
    output = response.get("output")
    if output is None or isinstance(output, str):
        return output or ""
    return json.dumps(output, ensure_ascii=False)


def _provider(one: Mapping[str, Any], number: int, faults: RowFaults) -> str:
    found = one.get("provider")
    if isinstance(found, dict):
        found = found.get("label") or found.get("id")
    text = in_line(found) if isinstance(found, str) else ""
    if not text or len(text) > LONGEST_NAME:
        told = f"has no name of a provider of at most {LONGEST_NAME} characters"
        faults.say(number, "provider", told)
    return text


def _raw_prompt(one: Mapping[str, Any]) -> str:
    """A prompt with its variables, as it was sent."""
    prompt = one.get("prompt")
    if isinstance(prompt, dict):
        prompt = prompt.get("raw") or prompt.get("label") or ""
    return prompt if isinstance(prompt, str) else ""


def _prompt_key(one: Mapping[str, Any]) -> tuple[str, str]:
    """What says which prompt a result is of, and how it may be called."""
    prompt = one.get("prompt")
    label = ""
    if isinstance(prompt, dict):
        label = str(prompt.get("label") or prompt.get("display") or "")
    index = one.get("promptIdx")
    if isinstance(index, int) and not label:
        return f"#{index}", ""
    return label, label


def _prompt_names(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Which prompt -> what its variant is called: its label, if that is short."""
    found: dict[str, str] = {}
    for one in results:
        key, label = _prompt_key(one)
        short = bool(label) and len(label) <= _LABEL and "\n" not in label
        found.setdefault(key, in_line(label) if short else f"prompt {len(found) + 1}")
    return found


def _unit(one: Mapping[str, Any]) -> str:
    """What says which test a result is of: its variables, without what a run adds."""
    given, case = one.get("vars"), one.get("testCase")
    given = given if isinstance(given, dict) else {}
    kept = {
        str(name): value
        for name, value in given.items()
        if not str(name).startswith("_") and name != "sessionId"
    }
    told = case.get("description") if isinstance(case, dict) else one.get("description")
    if not kept and not told:
        return str(one.get("testIdx", ""))
    return json.dumps([told, kept] if told else kept, sort_keys=True, ensure_ascii=False)
