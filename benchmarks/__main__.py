"""``python -m benchmarks``: measure speed and memory on this machine.

python -m benchmarks                              everything, in about half an hour
python -m benchmarks engine --sessions 200        one section, at a size of your own
python -m benchmarks engine cli --json out.json   two of them, and a file for later
python -m benchmarks --quick                      tiny sizes: does everything still work?

Keep the machine quiet meanwhile. Figures move with the machine; ratios are taken in the same run.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path
from typing import Final

from benchmarks import (
    adapter,
    cli,
    comparing,
    crowd,
    engine,
    gateway,
    hotspots,
    journal,
    limits,
    notes,
    overhead,
    startup,
    throughput,
    waiting,
)
from benchmarks.figures import Benchmark, Section, document, machine, rendered
from benchmarks.measuring import CommandFailed
from benchmarks.runs import WrongRun
from benchmarks.sizes import Sizes

SECTIONS: Final = {
    "engine": Benchmark("Model calls per second through everything", engine.measure),
    "waiting": Benchmark("What a user waits for", waiting.measure),
    "startup": Benchmark("The main job: start, length, memory", startup.measure),
    "journal": Benchmark("Journal and tables", journal.measure),
    "overhead": Benchmark("The journal's share of a call", overhead.measure),
    "cli": Benchmark("Command line", cli.measure),
    "compare": Benchmark("Comparing a large run", comparing.measure),
    "notes": Benchmark("Looking at an agent's notes after a turn", notes.measure),
    "hotspots": Benchmark("Where the time goes", hotspots.measure),
    "adapter": Benchmark("CPU per call: the adapter beside litellm", adapter.measure),
    "gateway": Benchmark("A metered address: CPU per request", gateway.measure),
    "limits": Benchmark("Rate limits kept and used", limits.measure),
    "throughput": Benchmark("Calls per second to a server", throughput.measure),
    "crowd": Benchmark("Many sessions on a server that takes its time", crowd.measure),
}

_OPTIONS: Final = {
    "sessions": "engine: play-tests",
    "counter_sessions": "engine: sessions of the counter kind",
    "counter_turns": "engine: turns of each of them",
    "open_sessions": "engine, overhead: sessions open at the same time",
    "main_job": "startup: sessions of the main job",
    "looked_at": "waiting: sessions of the run that commands look at",
    "few": "startup: sessions of the smaller run for memory growth",
    "many": "startup: sessions of the larger one",
    "growth_open": "startup: sessions open at the same time in both",
    "growth_turns": "startup: turn limit in both",
    "entries": "journal: entries to make tables from",
    "journal_sessions": "journal: play-tests to copy entries from",
    "compared_sessions": "compare: sessions in the results folder",
    "profiled": "hotspots: play-tests",
    "overhead": "overhead: play-tests",
    "repeats": "repeats of what is cheap",
    "adapter_seconds": "adapter: seconds per client and length of history",
    "limit_seconds": "limits: seconds per number of provider processes",
    "gateway_calls": "gateway: requests of the program",
    "served_calls": "throughput: calls of each run",
    "crowd": "crowd: sessions",
    "crowd_turns": "crowd: turns of each of them",
}

_QUICK: Final = {
    "sessions": 20,
    "counter_sessions": 40,
    "counter_turns": 5,
    "open_sessions": 20,
    "main_job": 20,
    "looked_at": 20,
    "few": 20,
    "many": 40,
    "growth_open": 20,
    "growth_turns": 2,
    "entries": 5_000,
    "journal_sessions": 4,
    "compared_sessions": 400,
    "profiled": 4,
    "overhead": 4,
    "repeats": 1,
    "adapter_seconds": 1,
    "limit_seconds": 20,
    "gateway_calls": 50,
    "served_calls": 1_000,
    "crowd": 50,
    "crowd_turns": 5,
}


def main() -> int:
    """Measure what was asked for; 0 when everything was measured, 1 otherwise."""
    options = _parser().parse_args()
    for name in [name for name in os.environ if name.startswith("MATRIX_")]:
        del os.environ[name]
    began = time.monotonic()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("  ".join(f"{key}: {value}" for key, value in machine().items()))
    done: list[Section] = []
    failed = 0
    for name in options.sections or SECTIONS:
        section = _measured(name, options)
        if section is None:
            failed += 1
        else:
            done.append(section)
            print(rendered(section), flush=True)
    seconds = time.monotonic() - began
    print(f"\n{len(done)} sections in {seconds:.0f} s")
    if options.json is not None:
        options.json.write_bytes(document(done, seconds))
    return 1 if failed else 0


def _measured(name: str, options: argparse.Namespace) -> Section | None:
    """A section, measured in a folder that is removed afterwards; ``None`` if it failed."""
    chosen = _chosen(options)
    said = "".join(f" --{key.replace('_', '-')} {value}" for key, value in chosen.items())
    quick = " --quick" if options.quick else ""
    section = Section(SECTIONS[name].title, f"python -m benchmarks {name}{quick}{said}")
    with tempfile.TemporaryDirectory(
        prefix=f".bench-{name}-", dir=options.folder, ignore_cleanup_errors=True
    ) as folder:
        changes = (_QUICK if options.quick else {}) | chosen
        sizes = Sizes(Path(folder).resolve(), **changes, beside=options.beside)
        try:
            SECTIONS[name].measure(sizes, section)
        except (CommandFailed, WrongRun) as error:
            print(f"\n{name}: {error}", file=sys.stderr, flush=True)
            return None
    return section


def _chosen(options: argparse.Namespace) -> dict[str, int]:
    """Sizes that were given on the command line."""
    given = {name: getattr(options, name) for name in _OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        type=_section,
        help=f"what to measure: {', '.join(SECTIONS)}; everything if left out",
    )
    defaults = {f.name: f.default for f in fields(Sizes)}
    for name, text in _OPTIONS.items():
        flag = f"--{name.replace('_', '-')}"
        text = f"{text} ({defaults[name]})"
        parser.add_argument(flag, type=_positive, metavar="N", help=text)
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="DIR",
        help="waiting: another built checkout",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check the code")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("results"),
        help="where runs are written and removed again; on the disk whose speed counts",
    )
    return parser


def _section(text: str) -> str:
    if text not in SECTIONS:
        raise argparse.ArgumentTypeError(f"no section {text!r}; there are: {', '.join(SECTIONS)}")
    return text


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    # ended from outside, it stops what it has started and removes its folders
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
