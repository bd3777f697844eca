"""What a metered address adds to a call: processor time of `matrix gateway` beside its command's.

Two runs that differ in the number of requests only; start, plan and tables are in both, so the
difference is the calls'. The client counts its own processor time, which is taken off. A simulated
model answers, so what it takes to write an answer is in the figure, and a provider's is not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from benchmarks.figures import Section
from benchmarks.measuring import cpu_of
from benchmarks.runs import matrix_command
from benchmarks.sizes import Sizes

CLIENT: Final = """
import http.client, json, os, sys, time, urllib.parse
where = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
line = http.client.HTTPConnection(where.hostname, where.port)
began = time.process_time()
for number in range(int(sys.argv[1])):
    body = {"model": "any", "max_tokens": 20,
            "messages": [{"role": "user", "content": f"Count on from {number}."}]}
    line.request("POST", "/v1/chat/completions", json.dumps(body), {
        "authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
        "content-type": "application/json"})
    answer = line.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()
with open(sys.argv[2], "w") as told:
    told.write(str(time.process_time() - began))
"""


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: few requests, many, and what one more takes."""
    client, told = sizes.folder / "client.py", sizes.folder / "client-cpu"
    client.write_text(CLIENT)
    few, many = 1, sizes.gateway_calls
    used = {count: _cpu(sizes, client, told, count) for count in (few, many)}
    for count, seconds in used.items():
        section.add(f"{count:,} requests: CPU without the client's", seconds, "s", "matrix gateway")
    each_ms = (used[many] - used[few]) / (many - few) * 1000
    section.add("one more request: CPU", each_ms, "ms", "the difference, by calls", "< 2")
    section.note("Journal, tables and the simulated model's answer are in it.")


def _cpu(sizes: Sizes, client: Path, told: Path, count: int) -> float:
    command = matrix_command(
        "gateway", "--max-cost", "50", "--model", "sim/gpt-4o-mini",
        "--", sys.executable, str(client), str(count), str(told),
    )  # fmt: skip
    whole, _ = cpu_of(command, folder=sizes.folder, repeats=sizes.repeats)
    return whole - float(told.read_text())
