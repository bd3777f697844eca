"""Laws of single calls: determinism, tokens, time, and text fit to be read."""

from __future__ import annotations

import re

import orjson
import pytest

from matrix.kinds.playtest.setup import prompts
from matrix.model.records import Call, CallParams, ChatMessage
from matrix.providers.simulated.language.grammar import (
    i_to_name,
    i_to_we,
    sentences,
    third,
    we_to_you,
)
from matrix.providers.simulated.provider import ROLES, SimulatedProvider, answer
from matrix.providers.simulated.settings import SimulationSettings, TraitsByCell
from matrix.providers.simulated.traits import Traits
from tests.providers.loop import GUIDE, POOL, Session, call_of, make_call, provider_with

NARRATION = (
    "Widow Tarn holds out the lantern and steps back from the Fog Bell. The rope is wet.\n\n"
    "Do you take the rope, or wait for Silas Orme?"
)
PLAYER = prompts.player_system(
    POOL[0],  # type: ignore[arg-type]
    name="Sam",
    backstory="Sam sells for a living.",
    character="Sam is a retired mechanic who distrusts boats.",
    mood="cheerful",
    title="The Ferry",
)


def asked(seed: int, system: str = PLAYER) -> Call:
    return call_of(system, prompts.reaction_request("", NARRATION, "Sam"), seed)


def opening(seed: int, max_tokens: int = 512) -> Call:
    system = prompts.narrator_system("Tell it.", "The Ferry", GUIDE)
    return call_of(system, prompts.opening_request(3), seed, max_tokens=max_tokens)


async def test_the_same_call_gets_the_same_reply_whatever_the_attempt() -> None:
    provider = provider_with()
    replies = [await provider.complete(asked(5), attempt) for attempt in (1, 2, 9)]
    assert replies[0] == replies[1] == replies[2]
    assert replies[0] == await provider_with().complete(asked(5), 1)


def test_different_seeds_give_different_answers() -> None:
    said = {answer(asked(seed), Traits()) for seed in range(60)}
    assert len(said) > 25


@pytest.mark.parametrize("archetype", POOL, ids=lambda archetype: archetype.name)
def test_every_archetype_has_a_voice_of_its_own(archetype: object) -> None:
    def said(which: object) -> set[str]:
        system = PLAYER.replace(POOL[0].name, getattr(which, "name", ""))
        return {answer(asked(seed, system), Traits()) for seed in range(80)}

    other = POOL[1] if archetype is POOL[0] else POOL[0]
    mine, theirs = said(archetype), said(other)
    assert len(mine - theirs) > len(mine) // 3


def test_every_line_of_a_session_is_fit_to_be_read(sessions: list[Session]) -> None:
    for text in (text for session in sessions for text in session.texts):
        assert text == text.strip()
        if text.startswith("{"):
            orjson.loads(text)
            continue
        assert not re.search(r"[{}]|  |\.\.(?!\.)|[,;:]\.|\bNone\b|\bthe the\b", text), text
        assert text.count('"') % 2 == 0, text
        assert re.search(r"[.!?][\"')\]]?$|THE END$", text), text
        for sentence in sentences(text.replace("\n\n", " ")):
            assert not sentence[0].islower(), sentence


def test_players_speak_for_themselves_and_relays_for_the_group(sessions: list[Session]) -> None:
    relays = [relay for session in sessions for relay in session.relays[1:]]
    plural = [relay for relay in relays if re.search(r"\b[Ww]e\b|\b[Oo]ur\b|\bus\b", relay)]
    assert len(plural) > 0.85 * len(relays)


def test_tokens_are_a_quarter_of_the_bytes_rounded_up() -> None:
    messages = [
        ChatMessage("system", PLAYER),
        ChatMessage("user", "na\u00efve caf\u00e9 \u2014 five"),
    ]
    call = make_call(messages, 3)
    reply = provider_with().reply_to(call)
    expected = sum(-(-len(one.content.encode()) // 4) + 4 for one in messages)
    assert reply.usage is not None
    assert reply.usage.input == expected
    assert reply.usage.output == -(-len(reply.text.encode()) // 4)
    assert reply.usage.cached == 0
    assert reply.finish_reason == "stop"


def test_an_answer_is_never_longer_than_its_limit() -> None:
    reply = provider_with().reply_to(opening(3, max_tokens=7))
    assert reply.finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.output == 7
    assert len(reply.text.encode()) <= 28


async def test_virtual_time_reports_the_latency_and_real_time_sleeps_it() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    settings = {"latency": {"first_token_s": 1.0, "tokens_per_s": 10, "jitter": 0.0}}
    virtual = await provider_with(**settings).complete(opening(1), 1)
    assert virtual.usage is not None
    assert virtual.duration_s == pytest.approx(1.0 + virtual.usage.output / 10)
    real = SimulatedProvider(SimulationSettings.model_validate({**settings, "time": "real"}), sleep)
    assert await real.complete(opening(1), 1) == virtual
    assert slept == [virtual.duration_s]


def test_jitter_varies_the_latency_around_its_median() -> None:
    provider = provider_with(latency={"jitter": 0.5})
    durations = sorted(provider.reply_to(asked(seed)).duration_s for seed in range(200))
    assert durations[20] < 0.75 * durations[100] < 0.6 * durations[180]


@pytest.mark.parametrize("number", [0, 7, 41])
def test_a_counter_counts_on(number: int) -> None:
    call = call_of("# You are a counter\n\nCount.", f"Count on from {number}.", 1)
    assert provider_with().reply_to(call).text == str(number + 1)


def test_unknown_prompts_get_a_sentence_or_json_that_follows_the_schema() -> None:
    assert provider_with().reply_to(call_of("Hello.", "Well?", 1)).text.endswith(".")
    schema = {
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "kind": {"enum": ["a", "b"]},
            "score": {"type": "number", "minimum": 1, "maximum": 5},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
    }
    call = call_of("Hello.", "Well?", 1)
    params = CallParams(schema=orjson.dumps(schema).decode())
    call = Call(**{**{name: getattr(call, name) for name in call.__slots__}, "params": params})
    found = orjson.loads(provider_with().reply_to(call).text)
    assert set(found) == set(schema["properties"])
    assert found["kind"] in ("a", "b")
    assert 1 <= found["score"] <= 5


@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_role_answers_even_where_the_prompt_holds_almost_nothing(role: str) -> None:
    for user in ("", "Anything at all.", '"""\n"""', '"""\nHello there.\n"""'):
        assert answer(call_of(f"{role}\n\nBe brief.", user, 2), Traits()).strip()


def test_a_persona_never_has_a_name_that_is_taken() -> None:
    names = ["Ada", "Bram", "Cleo"]
    for seed in range(60):
        for taken in ([], ["Ada"], ["ada", "BRAM"], names):
            system = prompts.persona_system("T", "The harbour of Orm in 1911.", taken, names)
            request = prompts.persona_request(POOL[0], "new in town")  # type: ignore[arg-type]
            persona = orjson.loads(answer(call_of(system, request, seed), Traits()))
            assert set(persona) == {"name", "backstory", "character"}
            assert persona["name"].lower() not in {name.lower() for name in taken}
            if len(taken) < 3:
                assert persona["name"] in names
            assert persona["name"] in persona["backstory"]


def test_a_secret_is_told_or_kept_as_the_trait_has_it() -> None:
    request = prompts.private_request("You hear your name.", "Sam")
    for chance, narration in ((0.0, False), (1.0, True)):
        traits = TraitsByCell(SimulationSettings(traits={"shares_secret": chance})).of({})
        said = answer(call_of(PLAYER, request, 4), traits)
        assert ("I tell the others" in said or "then I tell the others" in said) is narration


def test_first_person_lines_can_be_retold() -> None:
    line = "I keep my eyes on the bell and watch Silas before I move."
    assert i_to_name(line, "Sam") == (
        "Sam keeps their eyes on the bell and watches Silas before they move."
    )
    assert i_to_we(line) == "We keep our eyes on the bell and watch Silas before we move."
    assert we_to_you("We follow him, and our lamp stays low.") == (
        "You follow him, and your lamp stays low."
    )
    assert [third(verb) for verb in ("go", "try", "watch", "stay", "left", "missed")] == [
        "goes",
        "tries",
        "watches",
        "stays",
        "left",
        "missed",
    ]


def test_sentences_keep_quotes_and_abbreviations_whole() -> None:
    assert sentences('She says "Go. Now." Mr. Orme waits! "Why?" You ask.') == [
        'She says "Go. Now."',
        "Mr. Orme waits!",
        '"Why?"',
        "You ask.",
    ]
