"""What the processes of a prepared run are told."""

from __future__ import annotations

from pathlib import Path

from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.setup import RunSetup
from matrix.kinds.protocol import KeptKind, UsesFolder
from matrix.model.money import from_usd


def _flushes(prepared: Prepared) -> bool:
    """Whether the journal is flushed with every transaction: waiting for that is what it costs.

    A run that asks simulated models alone, and has no program do anything, has paid for nothing
    that a power cut could lose. :class:`SimulationSettings` may ask for it all the same.
    """
    acts = bool(prepared.agents) or isinstance(prepared.kind, UsesFolder)
    return acts or not prepared.play_money or prepared.spec.simulation.get("fsync") is True


def setup_of(prepared: Prepared, run_id: str, run_dir: Path) -> RunSetup:
    """The set-up of a run, without what belongs to one life of it."""
    limits = prepared.spec.limits
    return RunSetup(
        run_id=run_id,
        run_dir=str(run_dir.resolve()),  # processes elsewhere have other working folders
        kind=prepared.kind.name,
        cap_nano=limits.cap_nano,
        models=prepared.models,
        groups=prepared.groups,
        resources=prepared.resources,
        simulation=dict(prepared.spec.simulation),
        attempts=limits.attempts,
        clients=prepared.clients,
        spread=prepared.spec.providers.spread,
        timeout_s=prepared.spec.providers.timeout_s,
        env_file=str(prepared.env_file),
        session_cap_nano=None if limits.session_usd is None else from_usd(limits.session_usd),
        role_caps_nano={role: from_usd(usd) for role, usd in limits.role_usd.items()},
        measure=prepared.spec.compare.metric,
        agents=prepared.agents,
        flushes=_flushes(prepared),
        kept=prepared.kind.kept if isinstance(prepared.kind, KeptKind) else None,
    )
