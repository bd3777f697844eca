"""Caps that cannot work, found before anything starts: too small for a call, or on no role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matrix.engine.prepare.estimate import dearest_call
from matrix.engine.prepare.prepared import Prepared
from matrix.kinds.protocol import Binding, RoleProfile
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import did_you_mean
from matrix.model.money import NanoUSD, from_usd, show_usd
from matrix.model.spec.judges import JUDGES


def check_caps(prepared: Prepared, bindings: Sequence[Binding], mistakes: Mistakes) -> None:
    """Collect what is wrong with the caps of the run, of its sessions and of its roles."""
    profile = [use for binding in bindings for use in binding.profile]
    _check_run_cap(prepared, profile, prepared.plan.round_size, mistakes)
    limits = prepared.spec.limits
    if limits.session_usd is not None:
        _check_calls_fit(
            prepared, profile, from_usd(limits.session_usd), ("limits", "session_usd"), mistakes
        )
    known = [role.name for role in prepared.kind.roles]
    known += [JUDGES] * bool(prepared.spec.judges)
    for role, usd in limits.role_usd.items():
        path = ("limits", "role_usd", role)
        if role not in known:
            mistakes.fault(
                path,
                f"unknown role; the {prepared.kind.name} kind has: {', '.join(known)}"
                + did_you_mean(role, known),
            )
        own = [use for use in profile if use.role == role]
        cap, needs = from_usd(usd), prepared.round_cost_of(role).high
        if not _check_calls_fit(prepared, own, cap, path, mistakes):
            continue
        if prepared.spec.at_cap == "whole-rounds" and cap < needs:
            mistakes.fault(
                path,
                f"a cap of {show_usd(cap)} is too small for role {role} in one round of "
                f"{prepared.plan.round_size} sessions, which may cost {show_usd(needs)}; raise it, "
                "make the matrix smaller, or use `at_cap: spend-all`",
            )


def _check_run_cap(
    prepared: Prepared, profile: Sequence[RoleProfile], sessions: int, mistakes: Mistakes
) -> None:
    cap, path = prepared.spec.limits.cap_nano, ("limits", "cost_usd")
    whole_round = prepared.round_cost.high
    if not _check_calls_fit(prepared, profile, cap, path, mistakes):
        return
    if prepared.spec.at_cap == "whole-rounds" and cap < whole_round:
        mistakes.fault(
            path,
            f"a cap of {show_usd(cap)} is too small for one round of {sessions} sessions, "
            f"which may cost {show_usd(whole_round)}; raise it, make the matrix smaller, or "
            "use `at_cap: spend-all`",
        )


def _check_calls_fit(
    prepared: Prepared,
    profile: Iterable[RoleProfile],
    cap: NanoUSD,
    path: PathKey,
    mistakes: Mistakes,
) -> bool:
    tariffs = {name: entry.tariff for name, entry in prepared.models.items()}
    call = dearest_call(list(profile), tariffs)
    if cap < call:
        mistakes.fault(
            path,
            f"a cap of {show_usd(cap)} is too small for a single call, which may cost "
            f"{show_usd(call)}",
        )
    return cap >= call
