"""A turn of an agent that is a service: one request, or a job that is asked after until it ends.

Redirects are not followed, and answers are bounded. A job that was taken may cost money, so what
breaks after that is presumed spent; only what was provably never taken is released.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

import aiohttp
import orjson

from matrix.agents.answers import cost_in, found_at, json_in, read_text, read_value
from matrix.agents.secrets import Cleaner
from matrix.agents.turns import AgentAnswer, Played, Turn, WorkedFor, conversation_of
from matrix.model.errors import (
    AgentFailed,
    AgentTimedOut,
    AuthenticationFailed,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
    Unreachable,
)
from matrix.model.records import JSON, ChatMessage
from matrix.model.spec.agents import AgentSpec, AnswerFields, HttpForm, filled, filled_in

MAX_ANSWER: Final = 16 << 20
"""Bytes of one answer that are read, unpacked."""
_LONGEST_ID: Final = 1_000
"""Characters of a job's id, which becomes part of an address."""
_SHOWN: Final = 200
_MOST_MISSED: Final = 10
"""Answers in a row about a job that may be missing."""
_NEVER_TAKEN: Final = frozenset({404, 405, 410, 413, 414, 415, *range(300, 400)})
"""Statuses of requests that no service has begun to work on."""
_UNREACHED: Final = (aiohttp.ClientConnectorError, aiohttp.ClientConnectorDNSError)


class _Heard(NamedTuple):
    status: int
    body: str
    retry_after: str


async def ask_service(
    agent: AgentSpec,
    turn: Turn,
    worked: WorkedFor,
    *,
    variables: Mapping[str, str],
    clean: Cleaner,
) -> Played:
    """Ask once, and wait for the end of the job.

    Args:
        agent: The agent.
        turn: What it is asked.
        worked: Seconds that it has worked.
        variables: Where the variables of ``pass_env`` are found.
        clean: Takes the agent's secrets out of what it sends.

    Raises:
        AgentFailed: The job failed, or its answer cannot be read.
        AgentTimedOut: The job did not end in time.
        ProviderError: The service was not reached, is busy, or refused the request.
    """
    form = agent.http
    assert form is not None
    headers = {name: _with_variables(text, variables) for name, text in form.headers.items()}
    timeout = aiohttp.ClientTimeout(total=turn.timeout_s)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        try:
            async with asyncio.timeout(turn.timeout_s):
                told = await _Conversation(session, form, agent.answer, turn, clean).whole()
        except TimeoutError:
            raise AgentTimedOut(f"was not done after {turn.timeout_s:g} s") from None
    return Played(told, worked())


class _Conversation:
    """The requests of one turn."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        form: HttpForm,
        answer: AnswerFields,
        turn: Turn,
        clean: Cleaner,
    ) -> None:
        self._session, self._form, self._answer, self._turn = session, form, answer, turn
        self._clean = clean

    async def whole(self) -> AgentAnswer:
        """Submit, ask after it, and read the answer."""
        form, turn = self._form, self._turn
        known = conversation_of(turn.messages, turn.agent) if form.reply else ""
        prompt = _newest(turn.messages) if known else turn.prompt
        body = filled_in(form.body, self._places(prompt, known))
        address = form.reply if known and form.reply else form.submit
        heard = await self._send("POST", self._at(address, known), body)
        if form.id is None and form.poll is None:
            return self._read(heard)
        value = self._json(heard)
        found = found_at(value, form.id or "")
        job = str(found) if isinstance(found, str | int) and str(found) else known
        if not job:
            raise AgentFailed(f"took the job, but its answer has no id at {form.id!r}")
        if len(job) > _LONGEST_ID:
            raise AgentFailed(
                f"took the job, but its id has {len(job):,} characters; at most {_LONGEST_ID:,}"
            )
        if form.poll is not None:
            value = await self._ended(form.poll, job)
        told = read_value(self._answer, value)
        state = found_at(value, form.status) if form.poll is not None else None
        status = told.status or (state if isinstance(state, str) else "")
        return told._replace(conversation=job, status=status)

    async def _ended(self, poll: str, job: str) -> JSON:
        """The last answer about a job."""
        form, missed = self._form, 0
        while True:
            try:
                value = self._json(await self._send("GET", self._at(poll, job), None))
            except AgentFailed:
                raise
            except ProviderError as error:  # the job was taken, so it may cost money all the same
                missed += 1
                passing = isinstance(error, ProviderUnavailable | RateLimited)
                if not passing or missed > _MOST_MISSED:
                    raise AgentFailed(f"the job cannot be asked after: {error}") from None
            else:
                missed, state = 0, found_at(value, form.status)
                if state in form.done:
                    return value
                if state in form.failed:
                    cost = _cost(self._answer, value)
                    raise AgentFailed(f"the job is {state}: {_short(value)}", cost=cost)
                if not isinstance(state, str):
                    raise AgentFailed(f"no state at {form.status!r} in {_short(value)}")
            await asyncio.sleep(form.every_s)

    async def _send(self, method: str, address: str, body: JSON) -> _Heard:
        data = None if body is None else orjson.dumps(body)
        kind = {} if data is None else {"content-type": "application/json"}
        try:
            async with self._session.request(
                method, address, data=data, headers=kind, allow_redirects=False
            ) as answer:
                read = b""
                while len(read) <= MAX_ANSWER and (more := await answer.content.readany()):
                    read += more
                wait = answer.headers.get("retry-after", "")
                said = self._clean(read.decode(errors="replace"), len(read) <= MAX_ANSWER)
                heard = _Heard(answer.status, said, wait)
        except _UNREACHED as error:
            raise Unreachable(f"{address}: {error}") from None
        except aiohttp.ClientError as error:
            raise ProviderUnavailable(f"{address}: {type(error).__name__}: {error}") from None
        _check(heard, address, _cost(self._answer, _json_or_none(heard)))
        return heard

    def _read(self, heard: _Heard) -> AgentAnswer:
        return read_text(self._answer, heard.body, self._clean.json)

    def _json(self, heard: _Heard) -> JSON:
        try:
            return self._clean.json(json_in(heard.body))
        except ValueError:
            shown = heard.body[:_SHOWN].strip()
            raise AgentFailed(f"answered no JSON: {shown!r}") from None

    def _at(self, address: str, job: str) -> str:
        return filled(address, {k: quote(v, safe="") for k, v in self._places("", job).items()})

    def _places(self, prompt: str, job: str) -> dict[str, str]:
        turn = self._turn
        return {
            **turn.fields,
            "prompt": prompt,
            "session": turn.session,
            "seed": str(turn.seed),
            "turn": str(turn.turn),
            "id": job,
        }


def _check(heard: _Heard, address: str, cost: int | None) -> None:
    """See that an answer is one, and of a size that can be kept; ``cost`` is what it says it cost.

    A refusal that says its cost is settled at it, and one that may come after the work began
    (a content filter's 400) is presumed.
    """
    status, said = heard.status, heard.body[:_SHOWN].strip()
    told = f"{address}: HTTP {status}: {said!r}"
    if len(heard.body) > MAX_ANSWER:
        raise AgentFailed(f"{address}: its answer is larger than {MAX_ANSWER >> 20} MiB")
    if status >= 300 and cost:
        raise AgentFailed(told, cost=cost)
    if status == 429:
        wait = float(heard.retry_after) if heard.retry_after.isdecimal() else None
        raise RateLimited(told, retry_after_s=wait)
    if status in (401, 403):
        raise AuthenticationFailed(told)
    if status >= 500 or status == 408:
        raise ProviderUnavailable(told)
    if status in _NEVER_TAKEN:
        raise RequestRejected(told + ("; redirects are not followed" if status < 400 else ""))
    if status >= 300:
        raise AgentFailed(told)


def _json_or_none(heard: _Heard) -> JSON:
    try:
        return json_in(heard.body) if heard.status >= 300 else None
    except ValueError:
        return None


def _cost(fields: AnswerFields, value: JSON) -> int | None:
    return cost_in(partial(read_value, fields, value))


def _short(value: JSON) -> str:
    return orjson.dumps(value)[:_SHOWN].decode(errors="replace")


def _newest(messages: tuple[ChatMessage, ...]) -> str:
    return messages[-1].content if messages else ""


def _with_variables(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda found: variables.get(found[1], ""), text)
