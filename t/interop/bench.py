# SPDX-License-Identifier: MIT
"""bench.py ROUNDS: what a sample costs with inspect_ai's docker provider, and with ours; medians.

Each round measures each way once, one after the other. Needs what run.sh --bench sets up. The ways:
stock, inspect_ai as published; provider, inspect-sbinject's; exec, the same, with all commands over
its channel. The measures, in milliseconds: start, from a sample's begin to its solver; first, the
first call of a tool; later, each of the next ten; exec, each of ten commands; six, the wall time of
six samples at once, less that of the evaluation around them.
"""

import json
import os
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

WAYS = ("stock", "provider", "exec")
MEASURES = ("start", "first", "later", "exec", "six")
TIMES = 10
SERVICE = {
    "image": "sbinject-test/bookworm:1",
    "command": ["/pause"],
    "network_mode": "none",
    "x-local": True,
}


def measure(way: str, count: int) -> dict[str, list[float]]:
    """One evaluation, in this process."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import text_editor
    from inspect_ai.util import sandbox

    began: dict[Any, float] = {}
    found: dict[str, list[float]] = {name: [] for name in MEASURES}

    async def timed(name: str, work: Any) -> None:
        start = time.perf_counter()
        await work
        found[name].append((time.perf_counter() - start) * 1000)

    @solver
    def calls() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            began[state.sample_id] = datetime.now(timezone.utc).timestamp()
            tool = text_editor()
            for n in range(1 + TIMES):
                await timed("later" if n else "first", tool("view", "/etc/passwd"))
            for _ in range(TIMES):
                await timed("exec", sandbox().exec(["true"]))
            return state

        return solve

    path = Path("compose.yaml").absolute()
    path.write_text(json.dumps({"services": {"default": SERVICE}}))
    where = ("docker" if way == "stock" else "sbinject", str(path))
    dataset = [Sample(id=n + 1, input="go", sandbox=where) for n in range(count)]
    log = eval(
        Task(dataset=dataset, solver=calls()),
        model=get_model("mockllm/model"),
        display="none",
        log_dir="logs",
        score_display=False,
        max_samples=count,
        max_sandboxes=count,
    )[0]
    samples = list(log.samples or [])
    if log.status != "success" or len(samples) != count:
        raise SystemExit(f"bench: {way}: {log.error}")
    firsts = [sample.events[0].timestamp.timestamp() for sample in samples]
    ends = [sample.events[-1].timestamp.timestamp() for sample in samples]
    found["start"] = [(began[s.id] - first) * 1000 for s, first in zip(samples, firsts)]
    found["six"] = [(max(ends) - min(firsts)) * 1000]
    return found


def apart(way: str, count: int) -> dict[str, list[float]]:
    """In a process of its own: the stock one has never seen the package."""
    env = {**os.environ, "INSPECT_SBINJECT_EXEC": "1" if way == "exec" else ""}
    if way == "stock":
        env.pop("PYTHONPATH", None)
    argv = [sys.executable, __file__, way, str(count)]
    ran = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True)
    result: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return result


def main(rounds: int) -> None:
    found = {way: {name: list[float]() for name in MEASURES} for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            for count, names in (1, MEASURES[:-1]), (6, MEASURES[-1:]):
                seen = apart(way, count)
                for name in names:
                    found[way][name] += seen[name]
    print(f"{'ms':10}" + "".join(f"{way:>12}" for way in WAYS) + f"{'stock/exec':>12}")
    for name in MEASURES:
        row = [median(found[way][name]) for way in WAYS]
        cells = "".join(f"{value:12.1f}" for value in row)
        print(f"{name:10}{cells}{row[0] / row[-1]:11.1f}x")


if __name__ == "__main__":
    if sys.argv[1] in WAYS:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main(int(sys.argv[1]))
