"""A loopback service, providers pointed at it, and a wall around everything else."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings
from tests.providers_litellm.service import Service, served


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    found = Service()
    async with served(found.handle) as port:
        found.port = port
        yield found


@pytest.fixture
async def providers(service: Service) -> AsyncIterator[Callable[..., LiteLLMProvider]]:
    """Makes providers whose model ``m`` is ``target`` at the loopback service."""
    made: list[LiteLLMProvider] = []

    def make(target: str = "openai/gpt-4o", /, **settings: Any) -> LiteLLMProvider:
        own = {k: settings.pop(k) for k in ModelSettings._fields if k in settings}
        clocks = {k: settings.pop(k) for k in ("clock", "wall") if k in settings}
        model = ModelSettings(target, **{"api_base": service.base(target), **own})
        made.append(LiteLLMProvider(LiteLLMSettings({"m": model}, **settings), **clocks))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


def _is_local(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Any name look-up or connection beyond this machine fails, and fails the test."""
    refused: list[object] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not _is_local(address[0]):
            refused.append(address)
            raise OSError(f"tests may not reach {address}")
        connect(self, address)

    def looked_up(host: Any, *args: Any, **more: Any) -> Any:
        if not _is_local(host):
            refused.append(host)
            raise socket.gaierror(f"tests may not look up {host}")
        return look_up(host, *args, **more)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    yield refused
    assert not refused, f"something tried to reach {refused}"
