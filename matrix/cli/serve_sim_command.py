"""``matrix serve-sim``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.options import JsonOption
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.serving.main import ListenAddress

HELP = """Serve simulated models at an OpenAI-compatible address.

\b
    matrix serve-sim                                 any model name, no limits
    matrix serve-sim --port 8080 --rpm 600 --burst 10
    matrix serve-sim --faults '{chances: {"429": 0.1, slow: 0.05}}'

It prints its base URL (on this machine only) and serves until Ctrl-C: POST /v1/chat/completions
(streams, JSON schemas, forced tool calls), POST /jobs and GET /jobs/ID (a service that takes jobs,
to rehearse agents), GET /v1/models, /healthz and /stats. The model 'echo'
answers a fixed text at once. To ask for one fault: a header X-Matrix-Fault, or POST /faults with a
JSON list.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve-sim", help=HELP)(serve_sim)


def serve_sim(
    port: Annotated[int, typer.Option("--port", help="TCP port; 0 picks a free one.")] = 0,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models", metavar="NAME,...", help="Names served, '*' for any.", show_default=False
        ),
    ] = None,
    rpm: Annotated[
        float | None, typer.Option("--rpm", help="Requests per minute.", show_default=False)
    ] = None,
    tpm: Annotated[
        float | None, typer.Option("--tpm", help="Tokens per minute.", show_default=False)
    ] = None,
    burst: Annotated[
        float | None,
        typer.Option("--burst", help="Requests that may come at once.", show_default=False),
    ] = None,
    latency_ms: Annotated[
        float, typer.Option("--latency-ms", help="Milliseconds before every answer.")
    ] = 0.0,
    faults: Annotated[
        str | None,
        typer.Option(
            "--faults", metavar="FILE|YAML", help="Faults: chances, schedule.", show_default=False
        ),
    ] = None,
    simulation: Annotated[
        str | None,
        typer.Option(
            "--simulation",
            metavar="FILE|YAML",
            help="Behaviour of the models, as 'simulation' in a run spec.",
            show_default=False,
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Take the time that the models say they work.")
    ] = False,
    stop_after: Annotated[
        float | None,
        typer.Option("--stop-after", metavar="SECONDS", help="Then stop.", show_default=False),
    ] = None,
    stop_with_parent: Annotated[
        bool,
        typer.Option("--stop-with-parent", help="Stop when the parent or its pipe is gone."),
    ] = False,
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key", envvar="MATRIX_SERVE_KEY", help="Key to ask for.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Serve simulated models."""
    from matrix.serving.main import run
    from matrix.serving.options import from_flags

    names = [name.strip() for text in models or [] for name in text.split(",") if name.strip()]
    options = from_flags(
        {
            "port": port,
            "models": names or None,
            "rpm": rpm,
            "tpm": tpm,
            "burst": burst,
            "latency_ms": latency_ms,
            "faults": faults,
            "simulation": simulation,
            "real_time": real_time,
            "stop_after": stop_after,
            "stop_with_parent": stop_with_parent,
            "api_key": api_key,
        }
    )

    def announce(address: ListenAddress) -> None:
        say(address.as_line() if json else f"simulated models at {address.base_url}")

    run(options, announce)
