"""What stands above a list: a label whose items are the rows, or a row that the list is part of.

``- Interviews:`` and ``- Against:`` say nothing by themselves, so what is listed below them are
rows. ``- Acme said:`` says who, so it is a row, and what is listed below belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from matrix.kinds.trajectory.assertions.notes.directions import stated
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import HEADING, ITEM, LABEL, bare

_COUNT: Final = re.compile(r" ?\((?:n ?= ?)?\d+(?: \w+)?\)$")
"""How many there are: ``Interviews (2)``."""
_WORD: Final = re.compile(r"[^\W_]+")
_KINDS: Final = (
    "interviews calls mails emails messages surveys polls studies tests experiments documents "
    "reports notes tickets reviews chats talks meetings visits observations findings signals "
    "facts data numbers figures metrics quotes voices examples cases sources rows items points "
    "arguments reasons proof evidence research material feedback analytics details people "
    "customers users prospects "
)
"""Kinds of things that are listed; one of them (``Interview:``) says where a row is from."""
_SORTS: Final = (
    "quantitative qualitative primary secondary internal external direct indirect strong "
    "stronger weak weaker medium other others more further additional new newer old older "
    "recent earlier main key anecdotal hard soft first second third hand "
)
_AROUND: Final = (
    "the a some all our my and or of in from on to at with as by what we i have has had saw "
    "heard found seen know so far here it this that hypothesis claim these those following"
)
_OF_LISTS: Final = frozenset(f"{_KINDS}{_SORTS}{_AROUND}".split())


def is_lead_in(item: str, layout: Layout) -> bool:
    """Whether an item is a mere label with a colon: of a direction, or of a kind of list."""
    label = LABEL.match(item.strip())
    if label is None or label[2].strip(" *_`"):
        return False
    name = _COUNT.sub("", label[1].strip(" *_`"))
    if stated(name, layout) is not None:
        return True
    words = _WORD.findall(bare(name))
    return bool(words) and "](" not in name and _OF_LISTS.issuperset(words)


def outdented(lines: Iterable[str], layout: Layout) -> Iterator[str]:
    """Lists that are indented below a heading or a label, at the margin.

    Whoever writes ``**Evidence for:**`` and indents what follows means a list of rows. What is
    indented below an item that says something belongs to that item.
    """
    heads, margin = True, 0
    for given in lines:
        said = given.strip()
        line = given.expandtabs(4) if said and given[0] in " \t" else given
        indent = len(line) - len(line.lstrip(" "))
        item = ITEM.match(said)
        own = (item[1] or item[2] or "") if item else ""
        leads_in = is_lead_in(own, layout) if item else _is_label(said)
        if not said:
            yield line
        elif leads_in and (not indent or heads):
            heads, margin = True, 0
            yield f"- {own}" if item else line
        elif item and indent and (margin or heads):
            margin = min(margin or indent, indent)
            heads = True
            yield line[margin:]
        elif margin and indent:
            yield line[min(indent, margin) :]
        else:
            heads = (heads and not item) or HEADING.match(line) is not None
            margin = 0
            yield line


def _is_label(said: str) -> bool:
    """Whether a line is a label, and says nothing behind it."""
    label = LABEL.match(said)
    return label is not None and not label[2].strip(" *_`")
