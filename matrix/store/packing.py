"""Small values as few bytes: whole numbers by size, texts deflated with a shared word book.

A packed body is a tag, the length of its numbers, the numbers, and then all its texts one after
another, deflated if that makes them shorter. The word book stands in for what a short text cannot
repeat by itself: most journal bodies are a few hundred bytes long.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from matrix.store.word_book import WORD_BOOK

PLAIN: Final = 2
DEFLATED: Final = 3
"""Tags of packed bodies. Bodies of version 1 begin with ``[`` or ``x``, never with these."""

_SMALL: Final = 240
"""Numbers below this are one byte; above it stands how many bytes follow."""
_WINDOW: Final = -15
_LEVEL: Final = 4
_MEMORY: Final = 6
_FLOAT: Final = struct.Struct("<d")


class Packer:
    """Collects values in order; :meth:`packed` makes them bytes."""

    def __init__(self) -> None:
        self._numbers = bytearray()
        self._texts: list[bytes] = []

    def whole(self, value: int) -> None:
        """A whole number of up to 15 bytes."""
        if 0 <= value < _SMALL:
            self._numbers.append(value)
            return
        size = value.bit_length() // 8 + 1
        self._numbers.append(_SMALL + size)
        self._numbers += value.to_bytes(size, "little", signed=True)

    def real(self, value: float) -> None:
        """A floating-point number, exactly; zero is one byte."""
        self._numbers.append(bool(value))
        if value:
            self._numbers += _FLOAT.pack(value)

    def text(self, value: str) -> None:
        """A text."""
        self.raw(value.encode())

    def raw(self, value: bytes) -> None:
        """Bytes that are text."""
        self.whole(len(value))
        self._texts.append(value)

    def hexadecimal(self, value: str) -> None:
        """A text that is usually hexadecimal, and then takes half its length."""
        data = _from_hexadecimal(value)
        if data is None:
            self.whole(0)
            self.text(value)
        else:
            self.whole(len(data) + 1)
            self._numbers += data

    def packed(self) -> bytes:
        """The body."""
        texts = b"".join(self._texts)
        small = _deflated(texts)
        tag, texts = (DEFLATED, small) if len(small) < len(texts) else (PLAIN, texts)
        return bytes((tag,)) + len(self._numbers).to_bytes(2, "little") + self._numbers + texts


class Unpacker:
    """Gives the values of a packed body back, in the same order.

    Raises:
        ValueError: The body is damaged; any method, and :meth:`done`, may say so.
    """

    def __init__(self, body: bytes) -> None:
        if len(body) < 3 or body[0] not in (PLAIN, DEFLATED):
            raise ValueError("not a packed body")
        end = 3 + int.from_bytes(body[1:3], "little")
        self._numbers, texts = body[3:end], body[end:]
        if len(body) < end:
            raise ValueError("the body is cut off")
        self._texts = _inflated(texts) if body[0] == DEFLATED else texts
        self._at = self._text_at = 0

    def whole(self) -> int:
        """The next whole number."""
        first = self._take(1)[0]
        return (
            first
            if first < _SMALL
            else int.from_bytes(self._take(first - _SMALL), "little", signed=True)
        )

    def real(self) -> float:
        """The next floating-point number."""
        if not self._take(1)[0]:
            return 0.0
        value: float = _FLOAT.unpack(self._take(8))[0]
        return value

    def text(self) -> str:
        """The next text."""
        return self.raw().decode()

    def raw(self) -> bytes:
        """The next bytes that are text."""
        end = self._text_at + self.whole()
        if not self._text_at <= end <= len(self._texts):
            raise ValueError("a text is cut off")
        found, self._text_at = self._texts[self._text_at : end], end
        return found

    def hexadecimal(self) -> str:
        """The next hexadecimal text."""
        size = self.whole()
        return self._take(size - 1).hex() if size else self.text()

    @property
    def more(self) -> bool:
        """Whether there are numbers left: what was added to an entry later may be missing."""
        return self._at < len(self._numbers)

    def done(self) -> None:
        """Check that nothing is left."""
        if self._at != len(self._numbers) or self._text_at != len(self._texts):
            raise ValueError("the body is longer than it should be")

    def _take(self, size: int) -> bytes:
        found = self._numbers[self._at : self._at + size]
        if size < 0 or len(found) != size:
            raise ValueError("the numbers are cut off")
        self._at += size
        return found


def _from_hexadecimal(text: str) -> bytes | None:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if data.hex() == text else None


def _deflated(data: bytes) -> bytes:
    press = zlib.compressobj(
        _LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, WORD_BOOK
    )
    return press.compress(data) + press.flush()


def _inflated(data: bytes) -> bytes:
    press = zlib.decompressobj(_WINDOW, WORD_BOOK)
    found = press.decompress(data)
    if not press.eof or press.unused_data:
        raise ValueError("the texts are cut off")
    return found
