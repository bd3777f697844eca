"""Model names people use, and what they stand for: the one place to re-point when vendors rename.

``target`` is the name litellm knows; prices are US dollars per million tokens, used for simulated
stand-ins and where litellm's own price map has no entry. ``sim/<alias>`` is the simulated stand-in
of an alias at the same price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple


class Alias(NamedTuple):
    """A short name for a model."""

    target: str
    input_usd_per_mtok: float
    output_usd_per_mtok: float
    group: str


BUILT_IN: Final[dict[str, Alias]] = {
    "opus-4.5": Alias("anthropic/claude-opus-4-5", 5.0, 25.0, "anthropic"),
    "opus": Alias("anthropic/claude-opus-4-5", 5.0, 25.0, "anthropic"),
    "sonnet": Alias("anthropic/claude-sonnet-4-5", 3.0, 15.0, "anthropic"),
    "haiku": Alias("anthropic/claude-haiku-4-5", 1.0, 5.0, "anthropic"),
    "grok-4": Alias("xai/grok-4", 3.0, 15.0, "xai"),
    "grok": Alias("xai/grok-4-fast-non-reasoning", 0.2, 0.5, "xai"),
    "deepseek-r2": Alias("deepseek/deepseek-reasoner", 0.55, 2.19, "deepseek"),
    "deepseek": Alias("deepseek/deepseek-chat", 0.28, 0.42, "deepseek"),
    "qwen": Alias("dashscope/qwen-plus", 0.4, 1.2, "dashscope"),
    "kimi-k2": Alias("moonshot/kimi-k2-0905-preview", 0.6, 2.5, "moonshot"),
    "gpt-4o": Alias("openai/gpt-4o", 2.5, 10.0, "openai"),
    "gpt-4o-mini": Alias("openai/gpt-4o-mini", 0.15, 0.6, "openai"),
}

SIMULATED_PREFIX: Final = "sim/"
LOCAL_PREFIX: Final = "local/"
"""Before the name of a model that runs on this machine."""
BY_ARCHETYPE: Final = "by-archetype"
"""A role whose model each archetype names for itself; ``sim/by-archetype`` for stand-ins."""


StandIns = Mapping[str, Sequence[str]]
"""Role -> those of its levels behind which a simulated model is, in part or wholly."""


def simulated_roles(roles: Mapping[str, str], stand_ins: StandIns | None) -> tuple[str, ...]:
    """Which of a session's roles simulated models play.

    Args:
        roles: Role -> its level.
        stand_ins: What was found when the run was planned; ``None`` for a run from before that was
            kept, where the names have to tell.
    """
    if stand_ins is None:
        return tuple(role for role, level in roles.items() if level.startswith(SIMULATED_PREFIX))
    return tuple(role for role, level in roles.items() if level in stand_ins.get(role, ()))


def simulated_words(
    roles: Iterable[str] | StandIns,
    *,
    mixed: bool,
    factors: Mapping[str, Sequence[object]] | None = None,
) -> str:
    """``simulated``, followed by the roles where real models play, too; empty if none is.

    Of a role that both play, by its levels, those that are simulated are named: what the others
    cost is money.

    Args:
        roles: Those that simulated models play, with their levels if these are known.
        mixed: Whether real models play beside them.
        factors: Every level of each factor.
    """

    def named(role: str) -> str:
        own = roles.get(role, ()) if isinstance(roles, Mapping) else ()
        partly = own and len(own) < len((factors or {}).get(role, ()))
        return f"{role} {', '.join(own)}" if partly else role

    told = ", ".join(map(named, roles))
    return f"simulated: {told}" if told and mixed else "simulated" if told else ""
