"""Settings that every process of ours gives Ray before it is imported."""

from __future__ import annotations

import os


def prepare_environment() -> None:
    """Settings that Ray reads when it is imported; call before the first ``import ray``."""
    # otherwise `uv run` makes Ray upload the working directory, results and all
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # a signal that this program handles is no failure, and needs no stack trace
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray would keep a record of every actor call in its GCS, for a dashboard that nobody opens
    os.environ.setdefault("RAY_task_events_report_interval_ms", "0")
