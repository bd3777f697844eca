"""A real model on this machine: everything the stand-in promises, and a whole play-test.

Skipped unless llama.cpp and the weights are installed, as by ``make local``.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pytest

import matrix
from matrix.judging.request import Part, judge_request, judge_system, verdict_schema
from matrix.judging.verdict import parse_verdict
from matrix.kinds.playtest.detect.classify import SCHEMA, parse_label
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.prompts import classifier_system, classify_request
from matrix.kinds.playtest.table.judge import rubric_of
from matrix.model.records import Call, CallKey, CallParams
from matrix.providers.local.provider import LEFT_OUT_CHARS, LEFT_OUT_MESSAGES, LocalModelProvider
from matrix.providers.local.server import SHARED
from matrix.providers.local.settings import LocalSettings
from matrix.providers.local.weights import LocalModelUnavailable, check_local_model, find_weights
from tests.kinds.fakes import Asked, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, binding, plan
from tests.providers_local.calls import SMOLLM2, assistant, make_call, system, user
from tests.waiting import LONGEST_WAIT_S

RUBRIC = rubric_of()

try:
    check_local_model(SMOLLM2)
except LocalModelUnavailable as missing:
    pytest.skip(str(missing), allow_module_level=True)

T = TypeVar("T")

SMALL = LocalSettings(context=2_048)
REPEATABLE = LocalSettings(context=2_048, repeatable=True)
Making = Callable[..., LocalModelProvider]


@pytest.fixture(scope="module", autouse=True)
def stays_loaded() -> Iterator[None]:
    """One copy of the model for all tests that use ``SMALL``."""
    model = SHARED.acquire(find_weights(SMOLLM2), SMALL)
    yield
    SHARED.release(model)


@pytest.fixture
async def making() -> AsyncIterator[Making]:
    made: list[LocalModelProvider] = []

    def make(settings: LocalSettings = SMALL) -> LocalModelProvider:
        made.append(LocalModelProvider(settings))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


PIRATE = (system("You are a pirate."), user("Who are you?"))
LABELLED = (
    system(classifier_system()),
    user(classify_request(["Ada", "Bo"], "We ask the porter what station this is.", PROSE[0])),
)
JUDGED = (
    system(judge_system(RUBRIC)),
    user(
        judge_request(
            [Part("Story guide", "A night train."), Part("Transcript", "\n".join(PROSE[:6]))]
        )
    ),
)


async def test_text_comes_with_usage_and_duration(making: Making) -> None:
    reply = await making().complete(make_call(*PIRATE), 1)
    assert len(reply.text.split()) > 3
    assert reply.usage is not None
    assert reply.usage.input > 10
    assert 0 < reply.usage.output <= 40
    assert reply.duration_s > 0


async def test_max_tokens_ends_an_answer_and_says_so(making: Making) -> None:
    reply = await making().complete(make_call(user("Count to a thousand."), max_tokens=5), 1)
    assert reply.finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.output == 5


async def test_labels_and_verdicts_parse(making: Making) -> None:
    provider = making()
    for seed in range(3):
        label = await provider.complete(
            make_call(*LABELLED, seed=seed, max_tokens=220, schema=SCHEMA), 1
        )
        assert parse_label(label.text) is not None, label.text
    verdict = await provider.complete(
        make_call(*JUDGED, max_tokens=600, schema=verdict_schema(RUBRIC)), 1
    )
    parsed = parse_verdict(verdict.text, RUBRIC)
    assert parsed is not None, verdict.text
    assert set(parsed.scores) == set(RUBRIC.names)


async def test_a_schema_that_is_not_translated_here_holds_as_well(making: Making) -> None:
    schema = {"$defs": {"yes": {"type": "boolean"}}, "$ref": "#/$defs/yes"}
    reply = await making().complete(make_call(*PIRATE, max_tokens=20, schema=schema), 1)
    assert json.loads(reply.text) in (True, False)


async def test_parallel_calls_all_get_their_own_answer(making: Making) -> None:
    provider = making()
    replies = await asyncio.gather(
        *(provider.complete(make_call(*PIRATE, seed=seed, max_tokens=20), 1) for seed in range(4))
    )
    assert len({reply.text for reply in replies}) == 4


async def test_a_seed_repeats_where_repeatable_was_asked_for(making: Making) -> None:
    provider = making(REPEATABLE)

    async def say(seed: int) -> str:
        return (await provider.complete(make_call(*PIRATE, seed=seed), 1)).text

    first, other, again = await say(3), await say(4), await say(3)
    assert first == again
    assert first != other


async def test_what_does_not_fit_is_shortened_and_answered(making: Making) -> None:
    provider = making()
    history = [turn for i in range(40) for turn in (user(PROSE[i % 16]), assistant(PROSE[-i % 16]))]
    long = await provider.complete(
        make_call(system("You tell stories."), *history, user("Go on."), max_tokens=8), 1
    )
    assert 0 < int(long.headers[LEFT_OUT_MESSAGES]) < 80
    judged = await provider.complete(
        make_call(system("You judge."), user("\n".join(PROSE * 12)), max_tokens=8), 1
    )
    assert int(judged.headers[LEFT_OUT_CHARS]) > 1_000
    for reply in (long, judged):
        assert reply.usage is not None
        assert 1_000 < reply.usage.input <= 2_048 - 8


async def test_a_cancelled_call_leaves_the_model_free_for_the_next(making: Making) -> None:
    provider = making()
    task = asyncio.create_task(provider.complete(make_call(*PIRATE, max_tokens=1_500), 1))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(LONGEST_WAIT_S):
        assert (await provider.complete(make_call(*PIRATE, max_tokens=5), 1)).text


def test_nothing_of_llama_cpp_is_printed(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings, weights = LocalSettings(context=512, slots=1), find_weights(SMOLLM2)
    SHARED.release(SHARED.acquire(weights, settings))
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(weights.read_bytes()[:1_000_000])
    with pytest.raises(LocalModelUnavailable, match="cannot load"):
        SHARED.acquire(damaged, settings)
    assert capfd.readouterr() == ("", "")


def test_the_model_is_loaded_once_per_process() -> None:
    weights = find_weights(SMOLLM2)
    one, two = SHARED.acquire(weights, SMALL), SHARED.acquire(weights, SMALL)
    assert one == two
    SHARED.release(one)
    SHARED.release(two)


class Table:
    """Answers a whole play-test by the model, from a loop of its own."""

    def __init__(self, most_tokens: int) -> None:
        self._most, self.schema_answers = most_tokens, list[tuple[Mapping[str, Any], str]]()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._provider = LocalModelProvider(SMALL)

    def __call__(self, asked: Asked) -> str:
        schema = None if asked.schema is None else json.dumps(asked.schema)
        most = min(asked.max_tokens, self._most) if schema is None else asked.max_tokens
        key = CallKey("s", asked.phase, asked.turn, asked.slot)
        seed = hash((asked.turn, len(asked.slot)))
        call = Call(
            key, "", 0, asked.role, SMOLLM2, asked.messages, CallParams(most, None, schema), seed
        )
        text = self._run(self._provider.complete(call, 1)).text
        if asked.schema is not None:
            self.schema_answers.append((asked.schema, text))
        return text

    def close(self) -> None:
        self._run(self._provider.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=LONGEST_WAIT_S)


@pytest.fixture
def table() -> Iterator[Table]:
    found = Table(most_tokens=48)
    yield found
    found.close()


@pytest.mark.long
def test_a_whole_play_test_of_generated_text(table: Table) -> None:
    options = {"group": ["joker", "engaged"]}
    session = plan(max_turns=3, options=options)
    short = {"guide": "# A night train\n\nSnow falls.\n\n## Pulses\n\n" + "\n".join(PROSE[:4])}
    resources = {**binding(options=json.dumps(options)).resources, **short}
    prelude = make_prelude(KIND, session, resources, table)
    played = play_session(KIND, session, resources, table, prelude=prelude)
    assert played.ended is not None
    assert played.ended[0] in ("completed", "timeout")
    said = played.said()
    assert len([line for line in said if line.startswith("narrator:")]) >= 2
    assert played.of_kind("classification_fallback") == []
    assert played.of_kind("judge_unparsed") == []
    assert all(json.loads(text) for _, text in table.schema_answers)
    assert played.values["quality_coherence"] is not None


@pytest.mark.long
@pytest.mark.parametrize(
    "executor", ["in-process", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.long])]
)
def test_a_run_plays_to_its_end_for_nothing_and_is_not_simulated(
    executor: str, tmp_path: Path
) -> None:
    run = matrix.run(
        sessions=1,
        max_turns=2,
        models={"all": SMOLLM2},
        settings={"scenarios": ["put-it-back"], "options.group_size_max": 2},
        results=tmp_path,
        executor=executor,
    )
    assert run.status == "complete"
    assert not run.file.simulated
    [session] = run.sessions().to_dict("records")
    assert session["outcome"] in ("completed", "timeout")
    assert session["score"] > 0
    calls = pd.read_parquet(run.path / "calls")
    assert set(calls["model"]) == {SMOLLM2}
    assert set(calls["disposition"]) == {"settled"}
    assert calls["cost_nano"].sum() == calls["held_nano"].sum() == 0
    assert (calls["tokens_in"] > 0).all()
    events = pd.read_parquet(run.path / "events")
    assert not {"classification_fallback", "judge_unparsed"} & set(events["kind"])
    narrated = pd.read_parquet(run.path / "messages").query("speaker == 'narrator'")
    assert len(narrated) >= 3
    assert narrated["text"].nunique() > 1
