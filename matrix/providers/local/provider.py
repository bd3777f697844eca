"""The provider that plays local models: one attempt in, one reply or one error out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from matrix.model.errors import ProviderTimeout, ProviderUnavailable
from matrix.model.records import Call, ChatMessage
from matrix.providers.base import ProviderReply
from matrix.providers.local.asking import chat_body, seed_for
from matrix.providers.local.client import LlamaClient, ModelLimits
from matrix.providers.local.fitting import Fitted, answer_room, clean, fit, without_middle
from matrix.providers.local.server import SHARED, LoadedModel, Loader
from matrix.providers.local.settings import LocalSettings
from matrix.providers.local.tools import held_to, in_words, read_call
from matrix.providers.local.weights import find_weights

LEFT_OUT_MESSAGES: Final = "x-left-out-messages"
LEFT_OUT_CHARS: Final = "x-left-out-chars"
"""Headers of a reply whose call did not fit the context: how much of it the model never saw."""
_CUT_SHORTER: Final = 0.95
"""A text that is cut in proportion to its tokens is cut a little more, to be done at once."""


class LocalModelProvider:
    """Answers attempts with models in this process, loaded on their first call.

    Calls beyond a model's slots wait their turn; the wait counts neither as duration nor towards
    the time limit. An instance belongs to one event loop. Close it with :meth:`aclose`.

    Messages that do not fit the context are shortened as :mod:`matrix.providers.local.fitting`
    says, always in the same way, and the reply's headers say by how much.
    """

    def __init__(
        self,
        settings: LocalSettings | None = None,
        *,
        loader: Loader = SHARED,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Load nothing yet.

        Args:
            settings: Names, slots, context and threads.
            loader: Loads models; those of this process are shared by its providers.
            clock: For durations, in seconds.
        """
        self._settings = settings or LocalSettings()
        self._loader, self._clock = loader, clock
        self._models: dict[Path, _Model] = {}
        self._under_way: set[asyncio.Task[ProviderReply]] = set()
        self._closed = False

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Answer attempt number ``attempt`` of a call; each attempt draws anew.

        Raises:
            LocalModelUnavailable: The model or llama.cpp is not installed, or cannot be loaded.
            ContextOverflow: The system prompt leaves no room for the newest message.
            ProviderError: Anything else that went wrong, as one of this project's types.
        """
        self._refuse_if_closed()
        task = asyncio.create_task(self._complete(call, attempt))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and not caller.cancelling():
                self._refuse_if_closed()
            raise

    async def aclose(self) -> None:
        """Stop what is under way and free the models."""
        self._closed = True
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        models, self._models = list(self._models.values()), {}
        for model in models:
            await model.unload()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ProviderUnavailable("the local models of this process have been closed")

    async def _complete(self, call: Call, attempt: int) -> ProviderReply:
        model = self._model(call.model)
        limit_s = call.timeout_s or self._settings.timeout_s
        async with model.slots:
            client = await model.client()
            started = self._clock()
            try:
                async with asyncio.timeout(limit_s):
                    params, messages = self._settings.bounded(call.params), call.messages
                    with_tools = bool(params.tools) and params.tool_choice != "none"
                    if with_tools:
                        messages = in_words(messages, params)
                        params = held_to(params)
                    prompt = await _prompt(client, messages, params.max_tokens)
                    seed = seed_for(call.seed, attempt)
                    cache = not self._settings.repeatable
                    said = await client.chat(chat_body(prompt.messages, params, seed, cache=cache))
            except TimeoutError:
                raise ProviderTimeout(f"{call.model}: no answer within {limit_s:g} s") from None
            took = self._clock() - started
        if not with_tools:
            return ProviderReply(said.text, said.usage, took, said.finish_reason, prompt.headers)
        calls, text = read_call(said.text, call.seed)
        finish = "tool_calls" if calls else said.finish_reason
        return ProviderReply(text, said.usage, took, finish, prompt.headers, tool_calls=calls)

    def _model(self, name: str) -> _Model:
        weights = find_weights(self._settings.models.get(name, name))
        if weights not in self._models:
            self._models[weights] = _Model(weights, name, self._settings, self._loader)
        return self._models[weights]


class _Model:
    """One model of this provider: its slots, and its client once it is loaded."""

    def __init__(self, weights: Path, name: str, settings: LocalSettings, loader: Loader) -> None:
        self._weights, self._name = weights, name
        self._settings, self._loader = settings, loader
        self.slots = asyncio.Semaphore(settings.open_slots)
        self._loading: asyncio.Task[LoadedModel] | None = None
        self._client: LlamaClient | None = None

    async def client(self) -> LlamaClient:
        """The client; loads the model if no call did so before. A cancelled caller stops nothing.

        Raises:
            LocalModelUnavailable: It cannot be loaded.
        """
        if self._client is None:
            if self._loading is None or self._failed(self._loading):
                self._loading = asyncio.create_task(
                    asyncio.to_thread(self._loader.acquire, self._weights, self._settings)
                )
            loaded = await asyncio.shield(self._loading)
            self._client = self._client or LlamaClient(loaded, self._name)
        return self._client

    async def unload(self) -> None:
        """Let go of the model, also of one that is just being loaded."""
        loading, self._loading, self._client = self._loading, None, None
        if loading is None:
            return
        await asyncio.wait([loading])
        if not self._failed(loading):
            await asyncio.to_thread(self._loader.release, loading.result())

    @staticmethod
    def _failed(loading: asyncio.Task[LoadedModel]) -> bool:
        return loading.done() and loading.exception() is not None


class _Prompt(NamedTuple):
    """Messages that fit, and what had to go."""

    messages: Sequence[ChatMessage]
    left_out_messages: int = 0
    left_out_chars: int = 0

    @property
    def headers(self) -> dict[str, str]:
        """What had to go, for the reply; empty if nothing had to."""
        said = {LEFT_OUT_MESSAGES: self.left_out_messages, LEFT_OUT_CHARS: self.left_out_chars}
        return {name: str(count) for name, count in said.items() if count}


async def _prompt(client: LlamaClient, asked: Sequence[ChatMessage], max_tokens: int) -> _Prompt:
    """The messages, shortened if the model cannot hold them and the answer."""
    messages = clean(asked)
    limits = await client.limits()
    room = limits.context - answer_room(max_tokens, limits.context)
    if _surely_fits(messages, limits, room):
        return _Prompt(messages)
    counted = await client.sizes([message.content for message in messages])
    fitted = fit(messages, [size + limits.overhead for size in counted], room)
    before = sum(len(message.content) for message in messages)
    kept = await _last_shortened(client, fitted, limits.overhead)
    after = sum(len(message.content) for message in kept)
    return _Prompt(kept, fitted.left_out, max(0, before - after))


def _surely_fits(messages: Sequence[ChatMessage], limits: ModelLimits, room: int) -> bool:
    """Whether counting can be saved: no tokenizer makes more tokens than UTF-8 bytes."""
    most = sum(len(message.content.encode()) + limits.overhead for message in messages)
    return most <= room


async def _last_shortened(
    client: LlamaClient, fitted: Fitted, overhead: int
) -> Sequence[ChatMessage]:
    """The messages, with the middle of the last one cut out as far as needed."""
    if fitted.last_room is None:
        return fitted.messages
    *others, last = fitted.messages
    text, room = last.content, fitted.last_room - overhead
    keep = len(text)
    while keep > 1:
        [size] = await client.sizes([text])
        if size <= room:
            break
        keep = int(keep * room / size * _CUT_SHORTER)
        text = without_middle(last.content, keep)
    return (*others, ChatMessage(last.role, text))
