"""A checkpoint as a file of its own: a session after a turn, and all it takes to play on elsewhere.

The first half is for people and other programs: a document of the session in the words of its kind.
The second, ``continuation``, is what this project plays on from
(:mod:`matrix.model.moments.continuation`). A file is untrusted input: it is bounded, and every
mistake in it is told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, Field

from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, check
from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.moments.continuation import ContinuationData, Count, FilePart
from matrix.model.records import JSON, is_deeper

MAX_BYTES: Final = 64 * 1024 * 1024
"""Largest file that is written or read."""

MAX_DEPTH: Final = 150
"""Levels of lists and mappings in a file; what is deeper can be neither hashed nor written."""

FORMAT: Final = 3
"""The format that is written. Files of format 1 have no spec: they are read, not played on from.
Up to format 2 every kind's document was the play-test's."""

OWN_DOCUMENTS: Final = 3
"""The first format in which a kind without a document has none."""

RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$")]

DocumentOf = Callable[[str], type[BaseModel] | None]
"""Kind -> the fields of its document (:class:`FilePart` for none); ``None`` for one not known here,
whose fields are taken as they are."""


class CheckpointFile(FilePart):
    """A session after a turn. ``timestamp`` is in milliseconds since 1970.

    ``document`` holds what the session's kind tells of it; its fields stand beside the others.
    """

    format: Literal[1, 2, 3] = FORMAT
    run: RunId
    turn: Count
    timestamp: float
    document: Mapping[str, JSON] = Field(default_factory=dict)
    continuation: ContinuationData


CORE: Final = frozenset(CheckpointFile.model_fields) - {"document"}


def to_bytes(checkpoint: CheckpointFile) -> bytes:
    """The file's content: JSON that people can read.

    Raises:
        StoreError: It is larger than what can be read again.
    """
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    fields = checkpoint.model_dump(mode="json")
    document, there = fields.pop("document"), fields.pop("continuation")
    data = orjson.dumps({**fields, **document, "continuation": there}, option=options)
    if len(data) > MAX_BYTES:
        raise StoreError(
            f"the checkpoint after turn {checkpoint.turn} of session "
            f"{checkpoint.continuation.plan.session_id} has {len(data):,} bytes as a file; at most "
            f"{MAX_BYTES:,} can be read again: export an earlier turn, or replay it from its run"
        )
    return data


def from_bytes(data: bytes, source: str, document_of: DocumentOf) -> CheckpointFile:
    """Read a file's content.

    Raises:
        BadInput: It is too large, no JSON, or not a checkpoint; every mistake at once.
    """
    if len(data) > MAX_BYTES:
        told = f"{len(data):,} bytes; at most {MAX_BYTES:,} are read"
        raise BadInput([Mistake(source, None, "", told)])
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        told = f"not JSON ({error}); `matrix export` writes such files"
        raise BadInput([Mistake(source, None, "", told)]) from None
    if is_deeper(value, MAX_DEPTH):
        raise BadInput([Mistake(source, None, "", f"nested deeper than {MAX_DEPTH} levels")])
    found = value.get("format") if isinstance(value, dict) else None
    if isinstance(found, int) and found > FORMAT:
        told = f"found {found}; this version of matrix reads formats up to {FORMAT}: upgrade it"
        raise BadInput([Mistake(source, None, "format", told)])
    checkpoint = _checked(value, source, document_of)
    if mistakes := list(_contradictions(checkpoint, source)):
        raise BadInput(mistakes)
    return checkpoint


def _checked(value: Any, source: str, document_of: DocumentOf) -> CheckpointFile:
    """The fields of every kind, and those of the document as the file's kind has it."""
    mistakes, fields = Mistakes(), value
    if isinstance(value, dict):
        own = {name: item for name, item in value.items() if name not in CORE}
        model = document_of(_kind_in(value))
        if model is FilePart and value.get("format") in range(OWN_DOCUMENTS):
            own = {}
        if model is not None:
            read = mistakes.collect(lambda: check(Document(source, own, {}, {}), model))
            own = {} if read is None else read.model_dump(mode="json")
        fields = {name: value[name] for name in CORE & value.keys()} | {"document": own}
    checkpoint = mistakes.collect(lambda: check(Document(source, fields, {}, {}), CheckpointFile))
    mistakes.stop_if_any()
    assert checkpoint is not None
    return checkpoint


def _kind_in(value: Mapping[str, Any]) -> str:
    """The kind that a file says; empty where it says none."""
    place: Any = value
    for name in ("continuation", "plan", "kind"):
        place = place.get(name) if isinstance(place, dict) else None
    return place if isinstance(place, str) else ""


def _contradictions(checkpoint: CheckpointFile, source: str) -> list[Mistake]:
    """What the fields allow one by one, but not together."""
    there = checkpoint.continuation
    mistakes = [
        Mistake(source, None, f"continuation.{path}", told) for path, told in there.contradictions()
    ]
    if checkpoint.turn != there.turn:
        told = f"found {checkpoint.turn}, but continuation.turn is {there.turn}"
        mistakes.append(Mistake(source, None, "turn", told))
    if checkpoint.format > 1 and there.spec is None:
        told = "is missing; a file of this format has the resolved spec of its run"
        mistakes.append(Mistake(source, None, "continuation.spec", told))
    return mistakes
