"""Talking to one loaded model: what it can hold, how long texts are, and one answer at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import aiohttp

from matrix.model.errors import ProviderUnavailable
from matrix.model.records import ChatMessage
from matrix.providers.local.answers import LocalAnswer, StreamReader, refusal
from matrix.providers.local.server import LoadedModel

COUNTS_KEPT: Final = 4_096
"""Texts whose length in tokens is remembered; every turn resends the same history."""
_CONNECT_S: Final = 10.0

_SAMPLE: Final = (
    ChatMessage("system", "one"),
    ChatMessage("user", "two"),
    ChatMessage("assistant", "three"),
    ChatMessage("user", "four"),
)
"""A conversation from which the chat format's own tokens are measured."""


class ModelLimits(NamedTuple):
    """What a loaded model can hold.

    Attributes:
        context: Tokens per call, messages and answer together.
        overhead: Tokens that the chat format adds to each message, rounded up.
    """

    context: int
    overhead: int


class LlamaClient:
    """Asks one loaded model. A connection lives for one request: closing it cancels the work."""

    def __init__(self, model: LoadedModel, name: str) -> None:
        """``name`` is the model's, for messages."""
        self._model, self._name = model, name
        self._limits: ModelLimits | None = None
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def limits(self) -> ModelLimits:
        """What the model can hold; asked once."""
        if self._limits is None:
            async with self._session() as session:
                props = await self._json(session, "GET", "/props")
                models = await self._json(session, "GET", "/v1/models")
                sample = [message._asdict() for message in _SAMPLE]
                formatted = await self._json(
                    session, "POST", "/apply-template", {"messages": sample}
                )
                whole = await self._tokens(session, formatted["prompt"])
                bare = [await self._tokens(session, message.content) for message in _SAMPLE]
            context = min(
                int(props["default_generation_settings"]["n_ctx"]),
                int(models["data"][0]["meta"]["n_ctx_train"]),
            )
            self._limits = ModelLimits(context, -(-(whole - sum(bare)) // len(_SAMPLE)) + 1)
        return self._limits

    async def sizes(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without what the chat format adds."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._counts]
        if missing:
            async with self._session() as session:
                for text in missing:
                    self._counts[text] = await self._tokens(session, text)
        found = []
        for text in texts:
            self._counts.move_to_end(text)
            found.append(self._counts[text])
        while len(self._counts) > COUNTS_KEPT:
            self._counts.popitem(last=False)
        return found

    async def chat(self, body: Mapping[str, Any]) -> LocalAnswer:
        """One answer.

        Raises:
            ProviderError: There is none.
        """
        reader = StreamReader(self._name)
        try:
            async with (
                self._session() as session,
                session.post("/v1/chat/completions", json=body) as response,
            ):
                if response.status != 200:
                    raise refusal(response.status, await response.read(), self._name)
                async for line in response.content:
                    reader.read(line)
        except aiohttp.ClientError as error:
            raise self._gone(error) from None
        return reader.finish()

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            self._model.address,
            headers={"Authorization": f"Bearer {self._model.key}"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
        )

    async def _tokens(self, session: aiohttp.ClientSession, text: str) -> int:
        counted = await self._json(session, "POST", "/tokenize", {"content": text})
        return len(counted["tokens"])

    async def _json(
        self, session: aiohttp.ClientSession, method: str, path: str, body: Any = None
    ) -> Any:
        try:
            async with session.request(method, path, json=body) as response:
                if response.status != 200:
                    raise refusal(response.status, await response.read(), self._name)
                return await response.json()
        except aiohttp.ClientError as error:
            raise self._gone(error) from None

    def _gone(self, error: Exception) -> ProviderUnavailable:
        return ProviderUnavailable(f"{self._name}: the model in this process is gone ({error!r})")
