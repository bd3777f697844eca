"""Models loaded into this process: the one place that imports llama.cpp's bindings.

A loaded model listens on loopback, under a key that only this process knows, because that is the
interface of llama.cpp that can count tokens and that stops working when the caller hangs up.
Providers of one process share a loaded model; it is freed when the last of them lets go.
"""

from __future__ import annotations

import importlib
import os
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from matrix.providers.local.settings import LocalSettings
from matrix.providers.local.weights import ENGINE, LocalModelUnavailable, check_engine

SILENT: Final = -1
"""Below llama.cpp's lowest verbosity: it prints nothing at all."""
BATCH: Final = 512
"""Tokens of a prompt read in one go; between two goes other calls are served and cancelled."""
SLEEPING_THREADS: Final = ("OMP_WAIT_POLICY", "passive")
"""llama.cpp's threads wait for one another hundreds of times per token. By default they spin, and
one busy neighbour then stops them all: measured, with two threads on two busy cores, 5 tokens a
second instead of 30 to 55."""
_SPARE_CONNECTIONS: Final = 6


class _Identity(NamedTuple):
    """What tells loaded models apart: the file, and the settings that matter to loading."""

    weights: Path
    slots: int
    context: int
    threads: int
    cache_mib: int

    @staticmethod
    def of(weights: Path, settings: LocalSettings) -> _Identity:
        return _Identity(
            weights,
            settings.open_slots,
            settings.context,
            settings.used_threads,
            0 if settings.repeatable else settings.cache_mib,
        )


class LoadedModel(NamedTuple):
    """Where a model that is in memory listens.

    Attributes:
        address: ``http://127.0.0.1:port``.
        key: What requests must carry as bearer token.
    """

    address: str
    key: str


@dataclass
class _Running:
    """A model in memory; it lives as long as ``server`` is referred to."""

    model: LoadedModel
    server: Any
    users: int = 0


class Loader(Protocol):
    """Loads models and frees them; both block."""

    def acquire(self, weights: Path, settings: LocalSettings) -> LoadedModel:
        """The model in ``weights``, in memory from now on.

        Raises:
            LocalModelUnavailable: llama.cpp is not installed, or cannot load the file.
        """
        ...

    def release(self, model: LoadedModel) -> None:
        """Let go of a model. No request may be under way."""
        ...


class SharedModels:
    """The models of this process: each is loaded once, and freed when its last user lets go.

    Loading takes one or two seconds, and llama.cpp holds the interpreter for most of them; freeing
    waits, also with the interpreter held, for requests that are still under way.
    """

    def __init__(self) -> None:
        self._running: dict[_Identity, _Running] = {}
        self._lock = threading.Lock()

    def acquire(self, weights: Path, settings: LocalSettings) -> LoadedModel:
        """The model in ``weights``, loaded unless this process has it already. Blocks.

        Raises:
            LocalModelUnavailable: llama.cpp is not installed, or cannot load the file.
        """
        identity = _Identity.of(weights, settings)
        with self._lock:
            running = self._running.get(identity)
            if running is None:
                running = self._running[identity] = _load(identity)
            running.users += 1
            return running.model

    def release(self, model: LoadedModel) -> None:
        """Let go of a model; the last user frees its memory. Blocks for a moment."""
        with self._lock:
            for identity, running in self._running.items():
                if running.model == model:
                    running.users -= 1
                    if not running.users:
                        del self._running[identity]
                    return


SHARED: Final = SharedModels()
"""The models of this process."""


def _load(identity: _Identity) -> _Running:
    check_engine()
    os.environ.setdefault(*SLEEPING_THREADS)  # read once, when the library is loaded
    try:
        library: Any = importlib.import_module(ENGINE)
    except ImportError as error:  # installed, but a system library such as libgomp is missing
        raise LocalModelUnavailable(f"cannot import {ENGINE}: {error}") from None
    key = secrets.token_urlsafe(32)
    try:
        server = library.Server(_params(library, identity, key))
    except Exception as error:
        raise LocalModelUnavailable(
            f"llama.cpp cannot load {identity.weights}: {error} The file may be damaged, or there "
            f"is too little memory for {identity.slots} x {identity.context} tokens"
        ) from None
    return _Running(LoadedModel(server.listening_address, key), server)


def _params(library: Any, identity: _Identity, key: str) -> Any:
    params: Any = library.CommonParams()
    params.model.path = str(identity.weights)
    params.n_parallel = identity.slots
    params.n_ctx = identity.slots * identity.context
    params.n_batch = params.n_ubatch = BATCH
    params.n_gpu_layers = 0
    params.fit_params = False
    # on a CPU, writing after 2,000 tokens costs 2.4 times as much with it (reading 12 % less)
    params.flash_attn_type = library.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.cpuparams.n_threads = identity.threads
    params.cpuparams_batch.n_threads = identity.threads
    params.cache_ram_mib = identity.cache_mib
    params.verbosity = SILENT
    params.api_keys = [key]
    params.ui = False
    params.endpoint_slots = False
    params.n_threads_http = identity.slots + _SPARE_CONNECTIONS
    return params
