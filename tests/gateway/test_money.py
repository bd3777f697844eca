"""The cap of a metered address is strict, and every cent is in the journal, whatever happens."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from matrix.admission.tariffs import Tariff
from matrix.kinds.gateway import NOT_FOUND
from matrix.model.money import from_usd
from matrix.providers.price_map import bundled
from matrix.store.run.run_folder import read_run
from tests.cli.program import run_program
from tests.engine.waiting import until
from tests.executors.programs import Project, entries_of, finished, wait_for
from tests.gateway.conftest import Done, Gateway, program
from tests.gateway.provider import EVENTS, USED, Provider


def price(target: str = "openai/gpt-4o") -> Tariff:
    return bundled().tariff(target)


def charged(done: Done) -> int:
    calls = done.calls
    return int(calls.cost_nano.sum() + calls.overrun_nano.sum())


@pytest.mark.slow
async def test_requests_go_out_byte_for_byte_and_what_they_cost_is_the_providers_bill(
    gateway: Gateway, provider: Provider
) -> None:
    odd = (
        '{"model" : "gpt-4o",  "messages":[{"role":"user","content":"h\\\\u00e9"}], "zz_new": [1]}'
    )
    done = await gateway(
        program(f"print(json.dumps(post(CHAT + '?beta=true', None, raw={odd!r}.encode())[0]))")
    )
    assert (done.result.code, done.said) == (0, 200)
    assert provider.raw == [odd.encode()]
    assert provider.queries == ["beta=true"]
    assert charged(done) == provider.billed * price().cost(USED)
    assert provider.headers[0]["authorization"] == "Bearer sk-real-openai-key-0001"


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
async def test_at_the_cap_requests_are_refused_in_the_providers_words_and_nothing_is_sent(
    gateway: Gateway, provider: Provider, stream: bool
) -> None:
    cap = 0.05
    done = await gateway(
        program(f"""
        said = [post(CHAT, asked(max_tokens=1000, stream={stream})) for _ in range(40)]
        print(json.dumps([[status, body[:400]] for status, body in said]))
        """),
        cost=str(cap),
    )
    assert done.result.code == 4, done.result.stderr
    statuses = [status for status, _ in done.said]
    assert set(statuses) == {200, 402}
    assert statuses == sorted(statuses), "answers first, then the cap"
    refused = json.loads(done.said[-1][1])["error"]
    assert refused["type"] == refused["code"] == "insufficient_quota"
    assert provider.billed == statuses.count(200)
    assert provider.billed * price().cost(USED) == charged(done) <= from_usd(cap)
    assert "refused at the cap" in done.result.stderr
    assert read_run(done.run_dir).status == "complete"


@pytest.mark.slow
async def test_a_run_that_hit_its_cap_and_failed_says_so_whenever_it_is_looked_at(
    gateway: Gateway, tmp_path: Path
) -> None:
    done = await gateway(
        program("""
        said = [post(CHAT, asked(max_tokens=1000))[0] for _ in range(40)]
        print(json.dumps(said.count(402)), flush=True)
        sys.exit(7)
        """),
        cost="0.05",
    )
    refused = done.said
    assert 0 < refused < 40
    shown = looked(tmp_path, "show", "it")
    status = f"complete, exit code 7, {refused} refused at the cap"
    told = f"exit code 7; 40 requests, {refused} of them refused at the cap\n"
    assert shown.startswith(f"run it ({status}) in ")
    assert f"  command       {told}" in shown
    assert "estimate" not in shown
    assert told in (done.run_dir / "report.md").read_text()
    assert looked(tmp_path, "list").endswith(f"  {status}\n")
    data = json.loads(looked(tmp_path, "show", "it", "--json"))
    assert data["command"] == {"exit_code": 7, "requests": 40, "capped": refused}
    assert data["estimate_usd"] is None
    again = await asyncio.to_thread(run_program, tmp_path, "resume", "it")
    assert (again.code, status in again.stdout) == (4, True), "as when it was played"


def test_a_program_that_is_not_there_is_told_before_anything_is_started(tmp_path: Path) -> None:
    command = ("gateway", "--max-cost", "1", "--model", "sim/opus-4.5", "--", "./not-there")
    result = run_program(tmp_path, *command)
    assert result.code == 2
    assert "COMMAND: found './not-there', which is no program here" in result.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_command_that_cannot_be_run_reads_as_no_success(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("#!/no/such/shell\n")
    (tmp_path / "agent").chmod(0o755)
    command = ("gateway", "--max-cost", "1", "--model", "sim/opus-4.5", "--", "./agent")
    assert run_program(tmp_path, *command).code == NOT_FOUND
    assert "exit code 127; 0 requests, none refused at the cap" in looked(tmp_path, "show")
    assert looked(tmp_path, "list").endswith("  complete, exit code 127\n")


def test_what_a_shell_does_not_find_is_told_by_the_shell_alone(tmp_path: Path) -> None:
    command = ("gateway", "--max-cost", "1", "--model", "sim/opus-4.5", "--", "sh", "-c", "nobody")
    done = run_program(tmp_path, *command)
    assert done.code == NOT_FOUND
    own = [line for line in done.stderr.splitlines() if line.startswith("matrix gateway: ")]
    assert len(own) == 1
    assert "for 0 requests; `matrix show " in own[0]


@pytest.mark.slow
async def test_a_command_that_did_well_is_listed_as_complete(
    gateway: Gateway, tmp_path: Path
) -> None:
    await gateway(program("print(post(CHAT, asked())[0])"))
    assert "exit code 0; 1 request, none refused at the cap" in looked(tmp_path, "show")
    assert looked(tmp_path, "list").endswith("  complete\n")


def looked(folder: Path, *args: str) -> str:
    """What a command that looks at a run prints."""
    done = run_program(folder, *args)
    assert done.code == 0, done.stderr
    return done.stdout


@pytest.mark.slow
async def test_anthropics_clients_are_told_of_the_cap_in_anthropics_words(
    gateway: Gateway, provider: Provider
) -> None:
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 60_000, "messages": []}
    done = await gateway(program(f"print(json.dumps(post(MESSAGES, {asked!r})))"), cost="0.10")
    assert done.result.code == 4
    status, body = done.said
    assert status == 402
    assert json.loads(body)["error"]["type"] == "billing_error"
    assert provider.bodies == []


REFUSED: dict[str, tuple[str, int, str]] = {
    "no key of this address": ("post(CHAT, asked(), key='sk-mine')", 401, "not the one"),
    "a path that nobody serves": ("post('/v1/embeddings', asked())", 404, "Nothing is served"),
    "a model that nobody knows": ("post(CHAT, asked(model='gpt-4oo'))", 404, "did you mean"),
    "no model": ("post(CHAT, {})", 400, "model parameter"),
    "no JSON": ("post(CHAT, None, raw=b'{')", 400, "no JSON"),
    "no object": ("post(CHAT, [])", 400, "JSON object"),
    "a limit that is none": ("post(CHAT, asked(max_tokens='all'))", 400, "max_tokens"),
    "searches billed beside tokens": (
        "post(RESPONSES, {'model': 'gpt-5', 'input': 'x', 'tools': [{'type': 'web_search'}]})",
        400,
        "billed beside tokens",
    ),
    "a dearer tier": ("post(CHAT, asked(service_tier='priority'))", 400, "service_tier"),
    "text from elsewhere": (
        "post(MESSAGES, asked(model='claude-sonnet-4-5', max_tokens=5, mcp_servers=[{}]))",
        400,
        "mcp_servers",
    ),
    "tools that bring in text": (
        "post(RESPONSES, {'model': 'gpt-5', 'input': 'x', 'tools': [{'type': 'mcp'}]})",
        400,
        "billed beside tokens",
    ),
    "nested without end": (
        "post(CHAT, None, raw=b'{\"model\":\"gpt-4o\",\"a\":' + b'[' * 400 + b']' * 400 + b'}')",
        400,
        "nested too deeply",
    ),
    "a body far too large": ("post(CHAT, asked(pad='x' * (33 << 20)))", 413, "larger than"),
}


@pytest.mark.slow
async def test_what_cannot_be_metered_is_refused_and_nothing_is_sent_or_spent(
    gateway: Gateway, provider: Provider
) -> None:
    calls = ", ".join(call for call, _, _ in REFUSED.values())
    done = await gateway(program(f"print(json.dumps([{calls}]))"))
    assert done.result.code == 0, done.result.stderr
    for (name, (_, status, words)), (got, body) in zip(REFUSED.items(), done.said, strict=True):
        assert (got, words in body) == (status, True), (name, got, body)
    assert provider.bodies == []
    assert len(done.calls) == 0


@pytest.mark.slow
async def test_a_model_at_an_own_address_is_asked_only_with_a_limit(
    gateway: Gateway, provider: Provider
) -> None:
    base = f"http://127.0.0.1:{provider.port}/v1"
    own = (
        f'models.mine={{target: openai/mine, api_base: "{base}", price: {{input: 3, output: 15}}}}'
    )
    done = await gateway(
        program("""
        said = [post(CHAT, asked(model="mine", **more)) for more in ({}, {"max_tokens": 500})]
        print(json.dumps(said))
        """),
        "--set",
        own,
    )
    (refused, why), (answered, _) = done.said
    assert (refused, answered) == (400, 200), done.said
    assert "give a limit of tokens" in why
    assert [body["max_tokens"] for body in provider.bodies] == [500]
    assert len(done.calls) == 1


@pytest.mark.slow
async def test_a_hold_covers_what_a_request_only_refers_to(
    gateway: Gateway, provider: Provider
) -> None:
    done = await gateway(
        program("""
        print(json.dumps(post(RESPONSES, {
            "model": "gpt-5", "input": "x", "previous_response_id": "r1", "max_output_tokens": 10,
        })[0]))
        """)
    )
    assert done.said == 200
    facts = bundled().find("openai/gpt-5")
    assert facts is not None
    assert facts.context_window is not None
    (held,) = done.calls.held_nano
    assert held == price("openai/gpt-5").bound(facts.context_window, 10)


@pytest.mark.slow
@pytest.mark.parametrize("path", list(EVENTS))
async def test_a_stream_that_breaks_is_paid_and_asked_for_again(
    gateway: Gateway, provider: Provider, path: str
) -> None:
    async def broken_once(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        if len(provider.bodies) > 1:
            return await provider.well(request, asked)
        provider.billed += 1
        return await provider.send(request, EVENTS[request.path](asked)[:2])

    provider.answer = broken_once
    model = "claude-sonnet-4-5" if path.endswith("messages") else "gpt-4o"
    asked = {"model": model, "stream": True, "max_tokens": 500, "messages": [], "input": "x"}
    done = await gateway(program(f"print(json.dumps(post({path!r}, {asked!r})))"))
    status, body = done.said
    assert status == 200
    assert "well met" in body or "well " in body
    calls = done.calls.sort_values("attempt")
    assert list(calls.error_class.fillna("")) == ["MalformedAnswer", ""]
    assert provider.billed == 2
    bill = 2 * price(calls.model.iloc[0]).cost(USED)
    assert charged(done) >= bill, "nobody knows what the broken one cost, so it counts in full"


@pytest.mark.slow
async def test_refusals_of_the_provider_are_free_and_told_as_they_are(
    gateway: Gateway, provider: Provider
) -> None:
    async def refuse(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        error = {"message": "max_tokens is too large", "type": "invalid_request_error"}
        return web.json_response({"error": error}, status=400)

    provider.answer = refuse
    done = await gateway(program("print(json.dumps(post(CHAT, asked())))"))
    status, body = done.said
    assert status == 400
    told = "openai/gpt-4o: HTTP 400: max_tokens is too large"
    assert json.loads(body)["error"]["message"] == told
    assert set(done.calls.disposition) == {"released"}
    assert charged(done) == 0


@pytest.mark.slow
async def test_a_command_has_no_key_and_none_is_in_anything_that_the_run_writes(
    gateway: Gateway, provider: Provider
) -> None:
    done = await gateway(
        program("""
        post(CHAT, asked())
        print(json.dumps({name: text for name, text in os.environ.items() if "KEY" in name}))
        """)
    )
    assert all(text.startswith("matrix-gateway-") for text in done.said.values())
    written = b"".join(path.read_bytes() for path in done.run_dir.rglob("*") if path.is_file())
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        assert provider.environment[key].encode() not in written


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "code"),
    [("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", 137), ("", 0)],
)
async def test_the_exit_code_is_the_commands(gateway: Gateway, ends: str, code: int) -> None:
    done = await gateway(program(ends))
    assert done.result.code == code, done.result.stderr
    scores = done.tables.frame("scores").set_index("name").value
    assert scores["exit_code"] == code


@pytest.mark.long
@pytest.mark.slow
async def test_killed_and_resumed_what_was_answered_is_not_paid_again(
    provider: Provider, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(
        program("""
        for number in range(12):
            status, _ = post(CHAT, asked(seed=number, max_tokens=500))
            assert status == 200, status
        print("all are answered", flush=True)
        sys.exit(7)
        """)
    )
    project = Project(tmp_path, provider.environment)
    command = ("gateway", "--max-cost", "5", "--run-id", "it", "--", sys.executable, "agent.py")

    def killed_in_the_middle() -> int:
        with project.started(*command) as run:
            wait_for(lambda: provider.billed >= 5)
            run.send_signal(signal.SIGKILL)
            return finished(run).code

    async def slowly(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return await provider.well(request, asked)

    provider.answer = slowly
    assert await asyncio.to_thread(killed_in_the_middle) == -signal.SIGKILL
    recorded = await asyncio.to_thread(entries_of, project.path("it"))
    assert recorded
    done = await asyncio.to_thread(project.matrix, "resume", "it", "--quiet")
    assert done.code == 7, "the command's own, wherever the run is resumed"
    assert "all are answered" in done.out, "the command has the terminal again"
    calls = project.tables("it").frame("calls")
    assert read_run(project.path("it")).status == "complete"
    assert calls.answered.sum() == 12
    assert provider.billed <= 12 + 1, "at most what was in flight when it died is asked twice"
    assert calls.cost_nano.sum() >= provider.billed * price().cost(USED)


@pytest.mark.slow
async def test_what_a_command_leaves_running_cannot_spend_any_more(
    gateway: Gateway, provider: Provider, tmp_path: Path
) -> None:
    """A child asks on when the command has ended, while a request of the command's is under way."""
    asked, refused = tmp_path / "asked", tmp_path / "refused"

    async def slowly(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body["seed"] == 0:
            asked.touch()
            await until(refused.exists)
        return await provider.well(request, body)

    provider.answer = slowly
    done = await gateway(
        program("""
        import itertools, threading
        from pathlib import Path
        def wait(name):
            while not Path(name).exists():
                pass
        if os.fork() == 0:
            threading.Thread(target=post, args=(CHAT, asked(seed=0)), daemon=True).start()
            wait("asked")
            for seed in itertools.count(1):
                status, *_ = post(CHAT, asked(seed=seed))
                if status != 200:
                    break
            Path("refused").touch()
            os._exit(0)
        wait("asked")
        os._exit(0)
        """)
    )
    assert done.result.code == 0, done.result.stderr
    assert provider.billed == len(done.calls) >= 1, "what was under way is settled, and no more"
