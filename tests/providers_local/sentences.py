"""Random sentences of a grammar, for the subset of GBNF that this project writes."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(
    r'\s*(?:("(?:[^"\\]|\\.)*")|(\[(?:[^\]\\]|\\.)*\])|(\w+)|(\{\d+,\d+\})|([()|?]))'
)
_ALPHABET = "abc xyz ÄÖ€ 0189 {}[]:,.'"


def sentence(grammar: str, rng: random.Random) -> str:
    """One sentence, every choice drawn evenly."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines())
    return _Writer(rules, rng).rule("root")


class _Writer:
    def __init__(self, rules: dict[str, str], rng: random.Random) -> None:
        self._rules, self._rng = rules, rng

    def rule(self, name: str) -> str:
        tokens = _tokens(self._rules[name])
        written = self._either(tokens)
        assert not tokens, f"cannot read the rest: {tokens}"
        return written

    def _either(self, tokens: list[str]) -> str:
        options = [self._sequence(tokens)]
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            options.append(self._sequence(tokens))
        return self._rng.choice(options)

    def _sequence(self, tokens: list[str]) -> str:
        parts = []
        while tokens and tokens[0] not in ("|", ")"):
            start = len(tokens)
            whole = list(tokens)
            part = self._item(tokens)
            item = whole[: start - len(tokens)]
            parts.append(self._repeated(item, part, tokens))
        return "".join(parts)

    def _repeated(self, item: list[str], once: str, tokens: list[str]) -> str:
        if not tokens or not (tokens[0] == "?" or tokens[0].startswith("{")):
            return once
        mark = tokens.pop(0)
        low, high = (0, 1) if mark == "?" else map(int, mark[1:-1].split(","))
        return "".join(self._item(list(item)) for _ in range(self._rng.randint(low, high)))

    def _item(self, tokens: list[str]) -> str:
        token = tokens.pop(0)
        if token == "(":
            inner = self._either(tokens)
            assert tokens.pop(0) == ")"
            return inner
        if token.startswith('"'):
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if token.startswith("["):
            return self._char(token)
        return self.rule(token)

    def _char(self, token: str) -> str:
        found = re.compile(token)
        digits = "0123456789"
        return self._rng.choice([c for c in _ALPHABET + digits + '"\\n' if found.fullmatch(c)])


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        assert found, f"cannot read {text[position : position + 40]!r}"
        tokens.append(found.group().strip())
        position = found.end()
    return tokens
