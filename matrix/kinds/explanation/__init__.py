"""The ``explanation`` kind: a model reads the failures of a run, and says which are alike."""

from matrix.kinds.explanation.kind import KIND

__all__ = ["KIND"]
