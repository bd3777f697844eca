"""Models loaded into this process: the one place that imports llama.cpp's bindings.

A loaded model listens on loopback, under a key that only this process knows, because that is the
interface of llama.cpp that can count tokens and that stops working when the caller hangs up.
Providers of one process share a loaded model; it is freed when the last of them lets go.
"""

from __future__ import annotations

import importlib
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from matrix.providers.local.settings import LocalSettings
from matrix.providers.local.weights import ENGINE, LocalModelUnavailable, check_engine

SILENT: Final = -1
"""Below llama.cpp's lowest verbosity: it prints nothing at all."""
BATCH: Final = 512
"""Tokens of a prompt read in one go; between two goes other calls are served and cancelled."""
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


@dataclass
class LoadedModel:
    """A model in memory, and where it listens.

    Attributes:
        address: ``http://127.0.0.1:port``.
        key: What requests must carry as bearer token.
    """

    address: str
    key: str
    _identity: _Identity
    _server: Any
    _users: int = 0


_loaded: dict[_Identity, LoadedModel] = {}
_lock = threading.Lock()


def acquire(weights: Path, settings: LocalSettings) -> LoadedModel:
    """The model in ``weights``, loaded unless this process has it already. Blocks.

    Raises:
        LocalModelUnavailable: llama.cpp is not installed, or cannot load the file.
    """
    identity = _Identity.of(weights, settings)
    with _lock:
        model = _loaded.get(identity)
        if model is None:
            model = _loaded[identity] = _load(identity)
        model._users += 1
        return model


def release(model: LoadedModel) -> None:
    """Let go of a model; the last one frees its memory. Blocks for a moment.

    No request may be under way: llama.cpp waits for them while it holds the interpreter.
    """
    with _lock:
        model._users -= 1
        if model._users == 0:
            del _loaded[model._identity]
            model._server = None


def _load(identity: _Identity) -> LoadedModel:
    check_engine()
    try:
        library: Any = importlib.import_module(ENGINE)
    except ImportError as error:  # installed, but a system library such as libgomp is missing
        raise LocalModelUnavailable(f"cannot import {ENGINE}: {error}") from None
    key = secrets.token_urlsafe(32)
    try:
        server = library.Server(_params(library, identity, key))
    except Exception as error:
        raise LocalModelUnavailable(
            f"llama.cpp cannot load {identity.weights}: {error}; there must be memory for "
            f"{identity.slots} x {identity.context} tokens, and the file whole"
        ) from None
    return LoadedModel(server.listening_address, key, identity, server)


def _params(library: Any, identity: _Identity, key: str) -> Any:
    params: Any = library.CommonParams()
    params.model.path = str(identity.weights)
    params.n_parallel = identity.slots
    params.n_ctx = identity.slots * identity.context
    params.n_batch = params.n_ubatch = BATCH
    params.n_gpu_layers = 0
    params.fit_params = False
    params.cpuparams.n_threads = identity.threads
    params.cpuparams_batch.n_threads = identity.threads
    params.cache_ram_mib = identity.cache_mib
    params.verbosity = SILENT
    params.api_keys = [key]
    params.ui = False
    params.endpoint_slots = False
    params.n_threads_http = identity.slots + _SPARE_CONNECTIONS
    return params
