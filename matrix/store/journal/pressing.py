"""Journal bodies in few bytes: deflated against what their journal says over and over.

Most bodies are a few hundred bytes, too short to repeat anything by themselves, but each is much
like those before it. So a writer keeps the last 32 KiB of the first bodies in the journal, as the
dictionary of all that follow. It is the journal's own and never changes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

PLAIN, ALONE, LEARNED = b"\x00", b"\x01", b"\x02"
"""First bytes of pressed bodies: as it is, deflated by itself, deflated with the dictionary."""

LEARNED_FROM: Final = 512 << 10
"""Bytes of bodies after which the dictionary is made: some two thousand entries."""

_LARGEST: Final = 256 * 2**20
"""Bytes of the body of one entry: a journal may be somebody else\'s, and swell without end."""
_MOST: Final = 32 << 10
"""Bytes of a dictionary; deflate looks no further back."""

_LEVEL, _WINDOW, _MEMORY = 4, -15, 8


class Press:
    """Makes bodies small and gives them back, with the dictionary of one journal."""

    def __init__(self, known: Callable[[], bytes]) -> None:
        """``known`` reads the dictionary; empty if there is none yet."""
        self._known = known
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY)
        self._inflate = zlib.decompressobj(_WINDOW)
        self._tag = ALONE
        self._learned = zlib.decompressobj(_WINDOW)
        self.learn(known())

    @property
    def has_learned(self) -> bool:
        """Whether there is a dictionary."""
        return self._tag == LEARNED

    def learn(self, dictionary: bytes) -> None:
        """Use a dictionary from now on; nothing changes with an empty one."""
        if dictionary:
            self._tag = LEARNED
            self._deflate = zlib.compressobj(
                _LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, dictionary
            )
            self._learned = zlib.decompressobj(_WINDOW, dictionary)

    def press(self, body: bytes) -> bytes:
        """A body for the journal."""
        deflate = self._deflate.copy()  # primed once with the dictionary, which takes longest
        small = deflate.compress(body) + deflate.flush()
        return self._tag + small if len(small) < len(body) else PLAIN + body

    def unpress(self, pressed: bytes) -> bytes:
        """The body again.

        Raises:
            ValueError, zlib.error: It is damaged.
        """
        tag, rest = pressed[:1], pressed[1:]
        if tag == PLAIN:
            return rest
        if tag not in (ALONE, LEARNED):
            raise ValueError("not a pressed body")
        if tag == LEARNED and not self.has_learned:
            self.learn(self._known())  # the writer has made it since
        inflate = (self._inflate if tag == ALONE else self._learned).copy()
        body = inflate.decompress(rest, _LARGEST)
        if not inflate.eof or inflate.unused_data:
            raise ValueError(f"it is cut off, or larger than {_LARGEST:,} bytes")
        return body


class Sample:
    """Collects the first bodies of a journal until they are enough to learn from."""

    def __init__(self) -> None:
        self._seen, self._last = 0, b""

    def dictionary(self, bodies: list[bytes]) -> bytes:
        """The dictionary, once these bodies make the sample large enough; empty before."""
        self._seen += sum(map(len, bodies))
        self._last = b"".join([self._last, *bodies])[-_MOST:]
        return self._last if self._seen >= LEARNED_FROM else b""
