# SPDX-License-Identifier: MIT
"""evals.py ROUTE BOX...: an evaluation with a sample for each kind of container; TAP points.

ROUTE is prepared (the container is prepared by sbinject before the tools are first used) or
artifact (inspect_ai injects our program, which stands in for the one it is packaged with).

Works in the current directory. From the environment: SBINJECT, the command.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path
from typing import Any

import inspect_ai
import sbinject_adapter
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.event import SandboxEvent
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, chain, solver, use_tools
from inspect_ai.tool import (
    ToolSource,
    bash_session,
    mcp_connection,
    mcp_server_sandbox,
    mcp_tools,
    text_editor,
)
from inspect_ai.util import (
    ExecCompleted,
    ExecRemoteAwaitableOptions,
    ExecRemoteStreamingOptions,
    ExecStdout,
    sandbox,
)

from scenario import MODEL, NOTE, SHELL_WAIT, Box, model, play, thorough

SBINJECT = os.environ["SBINJECT"]
CLI = "/var/tmp/.da7be258e003d428/inspect-sandbox-tools"
MCP = "/tmp/mcp.sh"

NO_CAPABILITIES = {"cap_drop": ["ALL"]}

BOXES = {
    "debian": Box("bookworm", 0, 0, "/root"),
    "musl": Box("musl", 0, 0, "/root"),
    "user": Box("user", 1000, 1000, "/home/user"),
    "user-service": Box("user", 1000, 1000, "/home/user", service="user", by_rule=True),
    "uid": Box("bookworm", 1234, 1235, "/", {"user": "1234:1235"}),
    "nocaps": Box("bookworm", 0, 0, "/root", NO_CAPABILITIES),
    "nocaps-user": Box("user", 1000, 1000, "/home/user", NO_CAPABILITIES, service="user"),
}
"""Of those that are asked for, the first is treated thoroughly, the others briefly."""


def compose_file(name: str, box: Box) -> str:
    """A compose file with one service, and no network."""
    service = {
        "image": f"sbinject-test/{box.image}:1",
        "command": ["/pause"],
        "network_mode": "none",
        "x-local": True,
        **box.compose,
    }
    path = Path(f"compose-{name.replace(' ', '-')}.yaml").absolute()
    path.write_text(json.dumps({"services": {"default": service}}))
    return str(path)


class Checks:
    """What was found, by name; kept in the store of the sample until it is scored."""

    def __init__(self, state: TaskState):
        self.found: list[dict[str, Any]] = state.store.get("checks", [])
        state.store.set("checks", self.found)

    def add(self, name: str, ok: bool, seen: object) -> None:
        self.found.append({"name": name, "ok": bool(ok), "seen": str(seen)[:500]})

    def equal(self, name: str, seen: object, wanted: object) -> None:
        self.add(name, seen == wanted, f"{seen!r}, not {wanted!r}")


# ---- before the tools are used ----


def rules_file(box: Box) -> str | None:
    """The built-in rules, as they are or but for whose the service is."""
    if not box.by_rule:
        return None
    rules = subprocess.run([SBINJECT, "rules"], check=True, capture_output=True, text=True).stdout
    path = Path(f"{box.service}.yaml").absolute()
    path.write_text(rules.replace("service: auto", f"service: {box.service}"))
    return str(path)


@solver
def prepared() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = BOXES[state.input_text]
        config = rules_file(box)
        receipt = await sbinject_adapter.prepare(sandbox(), program=SBINJECT, config=config)
        state.store.set("receipt", vars(receipt))
        checks = Checks(state)
        checks.equal("sbinject puts the tools in", receipt.result, "injected")
        wanted = (box.service, box.uid if box.service == "user" else 0)
        checks.equal("the service is whose the rules say", (receipt.service, receipt.uid), wanted)
        return state

    return solve


# ---- exec_remote, which is not a tool ----


async def exec_awaited(checks: Checks, box: Box) -> None:
    result = await sandbox().exec_remote(
        ["sh", "-c", "echo out; echo err >&2; exit 3"], stream=False
    )
    seen = (result.success, result.returncode, result.stdout, result.stderr)
    checks.equal("exec_remote", seen, (False, 3, "out\n", "err\n"))

    who = ["sh", "-c", 'echo "$(id -u):$(id -g):$HOME"']
    result = await sandbox().exec_remote(who, stream=False)
    wanted = f"{box.uid}:{box.gid}:{box.home}\n"
    checks.equal("runs as the container's user, with its home", result.stdout, wanted)


async def exec_options(checks: Checks, _: Box) -> None:

    options = ExecRemoteAwaitableOptions(input="in\n", env={"A": "b c"}, cwd="/usr")
    result = await sandbox().exec_remote(
        ["sh", "-c", 'cat; echo "$A"; pwd'], options, stream=False
    )
    checks.equal("takes input, environment and directory", result.stdout, "in\nb c\n/usr\n")

    options = ExecRemoteAwaitableOptions(timeout=1)
    try:
        await sandbox().exec_remote(["sleep", "1000"], options, stream=False)
        checks.add("ends what takes too long", False, "it came back")
    except TimeoutError:
        checks.add("ends what takes too long", True, "")


async def exec_streamed(checks: Checks, _: Box) -> None:
    events = [
        event
        async for event in await sandbox().exec_remote(["sh", "-c", "echo a; sleep 1; echo b"])
    ]
    text = "".join(event.data for event in events if isinstance(event, ExecStdout))
    ended = isinstance(events[-1], ExecCompleted) and events[-1].exit_code
    checks.equal("streams", (text, ended), ("a\nb\n", 0))


async def exec_stdin(checks: Checks, _: Box) -> None:
    process = await sandbox().exec_remote(["cat"], ExecRemoteStreamingOptions(stdin_open=True))
    await process.write_stdin("one\n")
    await process.write_stdin("two\n")
    await process.close_stdin()
    text = "".join([event.data async for event in process if isinstance(event, ExecStdout)])
    checks.equal("writes to an open stdin", text, "one\ntwo\n")


async def exec_killed(checks: Checks, _: Box) -> None:
    process = await sandbox().exec_remote(["sh", "-c", "trap : HUP; sleep 1000; :"])
    alive = await sandbox().exec(["test", "-d", f"/proc/{process.pid}"])
    await process.kill()
    gone = await sandbox().exec(["test", "!", "-e", f"/proc/{process.pid}"])
    checks.equal("kills", (alive.success, gone.success), (True, True))


async def exec_big(checks: Checks, _: Box) -> None:
    """More than a reply may hold (see INSPECT_SANDBOX_MAX_EXEC_OUTPUT_SIZE): it comes in chunks."""
    process = await sandbox().exec_remote(["seq", "1", "300000"])
    text = "".join([event.data async for event in process if isinstance(event, ExecStdout)])
    wanted = "".join(f"{i}\n" for i in range(1, 300001))
    checks.add("brings output of 2 MB whole", text == wanted, f"{len(text)} of {len(wanted)}")


async def exec_other_user(checks: Checks, _: Box) -> None:
    options = ExecRemoteAwaitableOptions(user="nobody")
    result = await sandbox().exec_remote(["id", "-u"], options, stream=False)
    checks.equal("switches to a user that is named", result.stdout, "65534\n")


@solver
def remote() -> Solver:
    more = exec_options, exec_streamed, exec_stdin, exec_killed, exec_big, exec_other_user

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = BOXES[state.input_text]
        for step in exec_awaited, *(more if box.script is thorough else ()):
            await step(Checks(state), box)
        return state

    return solve


@solver
def connected(server: ToolSource) -> Solver:
    """The script of the model, with one run of the MCP server for all of it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async with mcp_connection(server):
            return await generate(state)

    return solve


# ---- what is in the container at the end ----


async def program_digest() -> str:
    """Through the engine: nothing in the container has to be able to read it."""
    return hashlib.sha256(await sandbox().read_file(CLI, text=False)).hexdigest()


async def still_prepared(checks: Checks, state: TaskState) -> None:
    receipt = state.store.get("receipt")
    checks.equal("the program is still ours", await program_digest(), receipt["sha256"])
    config = rules_file(BOXES[state.input_text])
    now = await sbinject_adapter.status(receipt["id"], program=SBINJECT, config=config)
    seen = (now.sha256, now.release, now.pid)
    wanted = (receipt["sha256"], receipt["release"], receipt["pid"])
    checks.equal("the service that ran is the one that sbinject started", seen, wanted)
    removed = await sbinject_adapter.run("remove", receipt["id"], program=SBINJECT, config=config)
    checks.equal("sbinject takes it out again", removed["result"], "removed")


async def injected_ours(checks: Checks, state: TaskState) -> None:
    listed = subprocess.run([SBINJECT, "payloads", "--json"], check=True, capture_output=True)
    payloads = {p["sha256"]: p for p in map(json.loads, listed.stdout.splitlines())}
    digest = await program_digest()
    checks.add("the program is ours", digest in payloads, digest)
    request = json.dumps({"jsonrpc": "2.0", "method": "version", "id": 1})
    user = None if BOXES[state.input_text].compose == NO_CAPABILITIES else "root"
    reply = await sandbox().exec([CLI, "exec"], input=request, user=user, timeout=60)
    says = json.loads(reply.stdout).get("result")
    checks.equal("and says so", says, payloads.get(digest, {}).get("release"))


@scorer(metrics=[accuracy()])
def found(look: Callable[[Checks, TaskState], Awaitable[None]]) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        checks, box = Checks(state), BOXES[state.input_text]
        calls = box.script(box)
        played = play(calls, state.messages)
        for step in played:
            checks.add(step.call.name, step.ok, step.shown)
        checks.equal("the script was played to its end", len(played), len(calls))
        owner = await sandbox().exec(["stat", "-c", "%u:%g", NOTE])
        wanted = f"{box.uid}:{box.gid}\n"
        checks.equal("what text_editor creates is the user's", owner.stdout, wanted)
        await look(checks, state)
        good = all(check["ok"] for check in checks.found)
        return Score(value="C" if good else "I", metadata={"checks": checks.found})

    return score


# ---- the evaluation, and its log ----


def task(route: str, names: list[str]) -> Task:
    tools = [bash_session(wait_for_output=SHELL_WAIT), text_editor()]
    server = mcp_tools(mcp_server_sandbox(name="sh", command="/bin/sh", args=[MCP]))
    return Task(
        name=route,
        dataset=[
            Sample(
                id=name,
                input=name,
                sandbox=("docker", compose_file(name, BOXES[name])),
                files={MCP: str(Path(__file__).with_name("mcp.sh"))},
            )
            for name in names
        ],
        setup=prepared() if route == "prepared" else None,
        solver=chain(remote(), use_tools(*tools, server), connected(server)),
        scorer=found(still_prepared if route == "prepared" else injected_ours),
    )


class Points:
    bad = 0

    def __init__(self, prefix: str):
        self.prefix = prefix

    def add(self, name: str, ok: bool, seen: object = "") -> None:
        print(f"{'ok' if ok else 'not ok'} - {self.prefix}: {name}")
        if not ok:
            Points.bad += 1
            print("".join(f"#   {line}\n" for line in str(seen).splitlines()), end="")


def injections(sample: EvalSample) -> list[str]:
    """The commands by which inspect_ai puts its own tools into a container."""
    commands = [e.cmd or "" for e in sample.events if isinstance(e, SandboxEvent)]
    return [c for c in commands if re.search(r"start-server|tar xz?f", c)]


def judge_sample(sample: EvalSample, route: str, prefix: str) -> None:
    points = Points(f"{prefix}, {sample.id}")
    points.add("no error", sample.error is None, sample.error and sample.error.message)
    errors = [e.error.message for e in sample.events if e.event == "error"]
    points.add("no event of an error", not errors, errors)
    for score in (sample.scores or {}).values():
        for check in score.metadata["checks"]:
            points.add(check["name"], check["ok"], check["seen"])
    points.add("is scored", len(sample.scores or {}) == 1)
    ran = injections(sample)
    if route == "prepared":
        points.add("inspect_ai injected nothing", not ran, ran)
    else:
        points.add("inspect_ai injected it", len(ran) >= 2, ran)


def judge(log: EvalLog, route: str, names: list[str], prefix: str) -> None:
    points = Points(prefix)
    points.add("the evaluation succeeds", log.status == "success", log.error)
    by_name = {sample.id: sample for sample in log.samples or []}
    for name in names:
        if name in by_name:
            judge_sample(by_name[name], route, prefix)
        else:
            points.add(f"a sample for {name}", False)
    value = log.results and log.results.scores[0].metrics["accuracy"].value
    points.add("every score is full", value == 1, value)


def changed_files() -> list[str]:
    """Those of the package that are not what was published."""
    changed = []
    for file in files("inspect_ai") or []:
        if file.hash:
            digest = hashlib.new(file.hash.mode, file.locate().read_bytes()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                changed.append(str(file))
    return changed


def main(route: str, first: str, *others: str) -> int:
    names = [first, *others]
    BOXES[first] = replace(BOXES[first], script=thorough)
    log = eval(
        task(route, names),
        model=get_model(MODEL, custom_outputs=model(BOXES)),
        display="none",
        log_dir="logs",
        fail_on_error=False,
        score_display=False,
    )[0]
    prefix = f"inspect_ai {inspect_ai.__version__}, {route}"
    Points(prefix).add("the package is as published", not changed_files(), changed_files())
    judge(read_eval_log(log.location), route, names, prefix)
    return Points.bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
