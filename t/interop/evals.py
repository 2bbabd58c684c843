# SPDX-License-Identifier: MIT
"""evals.py ROUTE HOW-MUCH BOX...: an evaluation with a sample for each kind of container; TAP.

ROUTE is
  prepared   the container is prepared by sbinject before the tools are first used
  tree       the same, with the program that this release brings: see the rules in $RULES
  overlay    inspect_ai injects our program, which stands in for the one it is packaged with
  provider   inspect-sbinject's provider
  exec       the same, with all commands over its channel
  switch     inspect-sbinject, which injects where inspect_ai would; the provider is docker
  artifact   the same, where the provider is not docker: inspect_ai injects our program
and -trio after it is another kind of event loop. HOW-MUCH is what is done in the first container:
all or brief; in the others it is brief.

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
import inspect_ai.util
import inspect_sbinject
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample, read_eval_log, transcript
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
from inspect_ai.util import sandbox

from checks import CLI, Checks, program_digest
from scenario import MODEL, NOTE, SHELL_WAIT, Box, model, play, thorough

try:
    from inspect_ai.event import SandboxEvent
except ImportError:  # an early release
    from inspect_ai.log._transcript import SandboxEvent

SBINJECT = os.environ["SBINJECT"]
MCP = "/tmp/mcp.sh"

NO_CAPABILITIES = {"cap_drop": ["ALL"]}

BOXES = {
    "debian": Box("bookworm", 0, 0, "/root"),
    "musl": Box("musl", 0, 0, "/root"),
    "user": Box("user", 1000, 1000, "/home/user"),
    "uid": Box("bookworm", 1234, 1235, "/", {"user": "1234:1235"}),
    "agent": Box("agent", 0, 0, "/root", bridged=True),
    "agent-user": Box("agent", 1000, 1000, "/home/user", {"user": "user"}, bridged=True),
    "nocaps": Box("bookworm", 0, 0, "/root", NO_CAPABILITIES),
    "nocaps-user": Box("user", 1000, 1000, "/home/user", NO_CAPABILITIES, service="user"),
    "readonly": Box("bookworm", 0, 0, "/root", {"read_only": True, "tmpfs": ["/tmp", "/var/tmp:exec"]}),
    "two": Box("bookworm", 0, 0, "/root", second={"user": "nobody"}),
}

RELEASE = tuple(map(int, inspect_ai.__version__.split(".")))
LOOKS_AS_USER = RELEASE <= (0, 3, 262)
"""It looks for the program as the container's own user."""
PUTS_AS_USER = RELEASE <= (0, 3, 213)
"""And so it puts its own there."""
HAS_REMOTE = hasattr(inspect_ai.util, "ExecCompleted")
RUNS_AS_SERVICE = RELEASE <= (0, 3, 263)
"""Tools run as whoever the service is; MCP servers are asked for as the container's own user."""


def treated(route: str, box: Box) -> Box:
    """As this release treats it, with its own program, too."""
    if box.uid and (PUTS_AS_USER if route in INJECTED else LOOKS_AS_USER):
        box = replace(box, service="user")
    if box.uid and box.service == "root" and RUNS_AS_SERVICE:
        who = "root, as with this release's own program"
        box = replace(box, uid=0, gid=0, home="/root", who=who, mcp=False)
    return box


def compose_file(name: str, box: Box) -> str:
    """A compose file with one service or two, and no network."""
    service = {
        "image": f"sbinject-test/{box.image}:1",
        "command": ["/pause"],
        "network_mode": "none",
        "x-local": True,
    }
    services = {"default": {**service, **box.compose}}
    if box.second is not None:
        services["second"] = {**service, **box.second}
    path = Path(f"compose-{name.replace(' ', '-')}.yaml").absolute()
    path.write_text(json.dumps({"services": services}))
    return str(path)


# ---- before the tools are used ----


@solver
def prepared() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = BOXES[state.input_text]
        receipt = await inspect_sbinject.prepare(sandbox(), program=SBINJECT)
        state.store.set("receipt", vars(receipt))
        checks = Checks(state)
        checks.equal("sbinject puts the tools in", receipt.result, "injected")
        wanted = (box.service, box.uid if box.service == "user" else 0)
        checks.equal("the service is whose it has to be", (receipt.service, receipt.uid), wanted)
        return state

    return solve


@solver
def brought() -> Solver:
    """The release's own program, which sbinject only brings."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        container = (await sandbox().connection()).container
        receipt = await inspect_sbinject.run(
            "inject", container, program=SBINJECT, config=os.environ["RULES"]
        )
        state.store.set("receipt", receipt)
        seen = (receipt["result"], receipt["proof"])
        Checks(state).equal("sbinject puts its own tools in", seen, ("injected", "tree"))
        return state

    return solve


@solver
def remote() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = BOXES[state.input_text]
        if HAS_REMOTE:
            from remote import BRIEF, THOROUGH

            for step in THOROUGH if box.script is thorough else BRIEF:
                await step(Checks(state), box)
        if box.bridged:
            from bridge import bridged

            await bridged(Checks(state))
        return state

    return solve


async def refused(server: ToolSource) -> str:
    try:
        async with mcp_connection(server):
            return "it connects"
    except Exception as error:
        return repr(error)


@solver
def connected() -> Solver:
    """The script of the model, with one run of the MCP server for all of it."""
    tools = [bash_session(wait_for_output=SHELL_WAIT), text_editor()]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        server = mcp_server_sandbox(name="sh", command="/bin/sh", args=[MCP])
        if BOXES[state.input_text].mcp:
            async with mcp_connection(server):
                return await generate(await use_tools(*tools, mcp_tools(server))(state, generate))
        said = await refused(server)
        name = "no MCP: this release asks root's program for it as the container's user"
        Checks(state).add(name, "Permission denied" in said, said)
        return await generate(await use_tools(*tools)(state, generate))

    return solve


@solver
def second() -> Solver:
    """The other service of a sandbox is used, too."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = BOXES[state.input_text]
        if box.second is not None:
            who = ["sh", "-c", "id -un"]
            result = await sandbox("second").exec_remote(who, stream=False)
            wanted = "root" if RUNS_AS_SERVICE and box.service == "root" else "nobody"
            checks = Checks(state)
            checks.equal("the other service has the tools, too", result.stdout, f"{wanted}\n")
        return state

    return solve


# ---- what is in the container at the end ----


async def still_prepared(checks: Checks, state: TaskState) -> None:
    receipt = state.store.get("receipt")
    checks.equal("the program is still ours", await program_digest(), receipt["sha256"])
    now = await inspect_sbinject.status(receipt["id"], program=SBINJECT)
    seen = (now.sha256, now.release, now.pid)
    wanted = (receipt["sha256"], receipt["release"], receipt["pid"])
    checks.equal("the service that ran is the one that sbinject started", seen, wanted)
    removed = await inspect_sbinject.run("remove", receipt["id"], program=SBINJECT)
    checks.equal("sbinject takes it out again", removed["result"], "removed")


async def still_whole(checks: Checks, state: TaskState) -> None:
    container = state.store.get("receipt")["id"]
    options = {"program": SBINJECT, "config": os.environ["RULES"]}
    now = await inspect_sbinject.run("status", container, **options)
    seen = (now["healthy"], now["proof"])
    checks.equal("the program is still as it was put in", seen, (True, "tree"))
    removed = await inspect_sbinject.run("remove", container, **options)
    checks.equal("sbinject takes it out again", removed["result"], "removed")


async def put_by_sbinject(checks: Checks, state: TaskState) -> None:
    """What the log says is there is there, and runs."""
    box = BOXES[state.input_text]
    said = [e.data for e in transcript().events if e.event == "info" and e.source == "sbinject"]
    logged = {c["container"]: c for event in said for c in event["containers"].values()}
    services = 1 if box.second is None else 2
    checks.equal("the log says where the tools of each container come from", len(logged), services)
    route = LOGGED[state.store.get("route")]
    checks.equal("by which route", {event["route"] for event in said}, {route})
    name = (await sandbox().connection()).container
    now = await inspect_sbinject.status(name, program=SBINJECT)
    container = logged[now.id]
    seen = (now.sha256, now.release, now.service)
    wanted = (container["sha256"], container["release"], container["service"])
    checks.equal("and which program: it runs", seen, wanted)
    checks.equal("as whom it has to", (now.service, now.path), (box.service, CLI))
    if not box.compose.get("read_only"):
        checks.equal("it is the file that inspect_ai looks for", await program_digest(), now.sha256)
    removed = await inspect_sbinject.run("remove", container["container"], program=SBINJECT)
    checks.equal("sbinject takes it out again", removed["result"], "removed")


async def injected_ours(checks: Checks, state: TaskState) -> None:
    listed = subprocess.run([SBINJECT, "payloads", "--json"], check=True, capture_output=True)
    payloads = {p["sha256"]: p for p in map(json.loads, listed.stdout.splitlines())}
    digest = await program_digest()
    checks.add("the program is ours", digest in payloads, digest)
    request = json.dumps({"jsonrpc": "2.0", "method": "version", "id": 1})
    user = "root" if BOXES[state.input_text].service == "root" else None
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
        checks.equal("text_editor creates as that user", owner.stdout, wanted)
        await look(checks, state)
        good = all(check["ok"] for check in checks.found)
        return Score(value="C" if good else "I", metadata={"checks": checks.found})

    return score


# ---- the evaluation, and its log ----

SETUP = {"prepared": prepared, "tree": brought}
LOOK = {
    "prepared": still_prepared,
    "tree": still_whole,
    "provider": put_by_sbinject,
    "exec": put_by_sbinject,
    "switch": put_by_sbinject,
    "artifact": injected_ours,
    "overlay": injected_ours,
}
LOGGED = {"provider": "provider", "exec": "provider", "switch": "docker"}
PROVIDER = {"provider": "sbinject", "exec": "sbinject", "artifact": "other"}
"""The others are docker."""
INJECTED = ("artifact", "overlay")
"""Where inspect_ai puts the program into the container."""
SWITCHED = {
    "exec": {"INSPECT_SBINJECT_EXEC": "1"},
    "switch": {"INSPECT_SBINJECT": "1"},
    "artifact": {"INSPECT_SBINJECT": "1"},
}


@solver
def begun(route: str) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store.set("route", route)
        return state

    return solve


def task(route: str, names: list[str]) -> Task:
    return Task(
        name=route,
        dataset=[
            Sample(
                id=name,
                input=name,
                sandbox=(PROVIDER.get(route, "docker"), compose_file(name, BOXES[name])),
                files={MCP: str(Path(__file__).with_name("mcp.sh"))},
            )
            for name in names
        ],
        setup=SETUP[route]() if route in SETUP else None,
        solver=chain(begun(route), remote(), second(), connected()),
        scorer=found(LOOK[route]),
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
    """The steps by which inspect_ai puts its own tools into a container."""
    events = [e for e in sample.events if isinstance(e, SandboxEvent)]
    wrote = [f"write {e.file}" for e in events if e.action == "write_file" and e.file == CLI]
    ran = [e.cmd or "" for e in events]
    return wrote + [cmd for cmd in ran if re.search(r"start-server|tar xz?f|chmod \+x", cmd)]


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
    if route in INJECTED:
        points.add("inspect_ai injected it", len(ran) >= 2, ran)
    else:
        points.add("inspect_ai injected nothing", not ran, ran)


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
        if file.hash and ".." not in file.parts:  # which is what a command's place depends on
            digest = hashlib.new(file.hash.mode, file.locate().read_bytes()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                changed.append(str(file))
    return changed


def main(way: str, how_much: str, *names: str) -> int:
    route = way.partition("-")[0]
    os.environ.update(SWITCHED.get(route, {}))
    if route == "artifact":
        import other  # noqa: F401
    for name in names:
        BOXES[name] = treated(route, BOXES[name])
    if how_much == "all":
        BOXES[names[0]] = replace(BOXES[names[0]], script=thorough)
    log = eval(
        task(route, list(names)),
        model=get_model(MODEL, custom_outputs=model(BOXES)),
        display="none",
        log_dir="logs",
        fail_on_error=False,
        score_display=False,
    )[0]
    prefix = f"inspect_ai {inspect_ai.__version__}, {way}"
    Points(prefix).add("the package is as published", not changed_files(), changed_files())
    judge(read_eval_log(log.location), route, list(names), prefix)
    return Points.bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
