"""Play-tests: archetypal players and their spokesperson put a narrator to the test."""

from matrix.kinds.playtest.kind import KIND, PlaytestKind

__all__ = ["KIND", "PlaytestKind"]
