# SPDX-License-Identifier: MIT
"""client_test.py: inspect_sbinject's client and its channel against real containers and pretended
programs; TAP points, on asyncio and on trio.

From the environment: SBINJECT, and an engine for it and for the docker command.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import inspect_sbinject as sbi
from inspect_sbinject import client
from inspect_sbinject.channel import REQUEST_MAX

SBINJECT = os.environ["SBINJECT"]
RULES = """\
version: 1
payloads: {tools-amd64: {source: embedded}}
install: {path: /opt/tools/inspect-sandbox-tools}
start: [start-server]
rules: [{when: {client: somebody-else}, use: tools-amd64}]
"""

bad = 0
backend = ""


def point(name: str, ok: bool, seen: object) -> None:
    global bad
    print(f"{'ok' if ok else 'not ok'} - client, {backend}, {name}")
    if not ok:
        bad += 1
        print(f"#   {seen!r}")


async def raises(
    name: str, kind: type[Exception], call: Coroutine[Any, Any, Any], exit: int | None = None
) -> None:
    try:
        seen: object = await call
    except Exception as error:
        seen = error
    ok = type(seen) is kind and getattr(seen, "exit", None) == exit
    point(name, ok, seen)


def docker(*argv: str) -> str:
    result = subprocess.run(["docker", *argv], check=True, capture_output=True, text=True)
    return result.stdout.strip()


def program(directory: str, name: str, body: str) -> str:
    """A program that pretends to be sbinject."""
    path = Path(directory, name)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


async def containers(running: str, stopped: str, directory: str) -> None:
    def inject(container: str, **options: Any) -> Coroutine[Any, Any, sbi.Receipt]:
        return sbi.inject(container, program=SBINJECT, **options)

    def status(container: str) -> Coroutine[Any, Any, sbi.Status]:
        return sbi.status(container, program=SBINJECT)

    await raises("nothing there yet: NoService", sbi.NoService, status(running), 7)
    receipt = await inject(running)
    point("inject", (receipt.result, receipt.id) == ("injected", running), receipt)
    again = await inject(running, require={"sha256": receipt.sha256, "wire": str(receipt.wire)})
    point("again", (again.result, again.pid) == ("already", receipt.pid), again)
    now = await status(running)
    point("status", now.healthy and now.sha256 == receipt.sha256, now)
    removed = await sbi.run("remove", running, program=SBINJECT)
    point("remove", removed["result"] == "removed", removed)

    await raises("no such container", sbi.NoContainer, inject("no-such"), 4)
    await raises("a container named like an option", sbi.UsageError, inject("--help"), 2)
    await raises("a container that does not run", sbi.NoContainer, inject(stopped), 4)
    nowhere = inject(running, host=f"unix://{directory}/nowhere")
    await raises("no engine there", sbi.EngineUnreachable, nowhere, 3)
    other = inject(running, require={"release": "99.9.9"})
    await raises("another release than required", sbi.Mismatch, other, 6)
    no_file = inject(running, config=f"{directory}/no-file")
    await raises("no such rules file", sbi.UsageError, no_file, 2)
    Path(directory, "rules.yaml").write_text(RULES)
    no_rule = inject(running, config=f"{directory}/rules.yaml")
    await raises("no rule for this client", sbi.Unsupported, no_rule, 5)


async def impostors(directory: str) -> None:
    replies = {
        "says nothing": "exit 0",
        "says something else": "echo hello",
        "says two things": """echo '{"ok":true}'; echo '{"ok":true}'""",
        "says a thing twice": """echo '{"ok":true,"ok":true}'""",
        "has no receipt": """echo '{"ok":true}'""",
        "succeeds and fails": """echo '{"ok":true}'; exit 1""",
        "fails and succeeds": """echo '{"ok":false}'""",
        "fails without a reason": """echo '{"ok":false}'; exit 4""",
        "fails for two reasons": """echo '{"ok":false,"code":"usage","exit":4}'; exit 4""",
        "fails in a new way": """echo '{"ok":false,"code":"new","exit":99}'; exit 99""",
        "is killed": "kill -9 $$",
    }
    for name, body in replies.items():
        pretended = program(directory, name.replace(" ", "-"), body)
        try:
            seen: object = await sbi.inject("c", program=pretended)
        except Exception as error:
            seen = error
        point(f"a program that {name}: ProtocolError", type(seen) is sbi.ProtocolError, seen)
    missing = sbi.inject("c", program=f"{directory}/missing")
    await raises("a program that does not exist", FileNotFoundError, missing)


async def endings(directory: str) -> None:
    """A program that hangs is told to end, and waited for; one that does not listen is killed."""
    told = Path(directory, "told")
    pid = Path(directory, "pid")
    wait = f"echo $$ >{pid}; while :; do sleep 0.05; done"
    polite = program(directory, "polite", f"trap 'echo yes >{told}; exit 130' TERM; {wait}")
    deaf = program(directory, "deaf", f"trap '' TERM; {wait}")
    client.UNDO_SECONDS = 3
    for name, hanging in ("hangs", polite), ("hangs and does not listen", deaf):
        call = sbi.inject("c", program=hanging, timeout=0)
        await raises(f"a program that {name}", TimeoutError, call)
        gone = not Path("/proc", pid.read_text().strip()).exists()
        point("is gone then", gone, pid.read_text())
    point("the first was told", told.exists(), told)
    told.unlink(missing_ok=True)
    pid.unlink()
    client.UNDO_SECONDS = 30
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sbi.inject("c", program=polite))
        while not (pid.exists() and pid.read_text()):
            await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    point("one whose caller gives up is told", told.exists(), told)
    told.unlink(missing_ok=True)
    pid.unlink()


async def sandboxes() -> None:
    class Connection:
        type = "local"
        container = None

    class Sandbox:
        async def connection(self) -> Connection:
            return Connection()

    await raises("a sandbox without a container", sbi.Unsupported, sbi.prepare(Sandbox()))


def request(method: str, id: object, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": id}


async def channels(container: str) -> None:
    """Requests in a channel: as they were sent, each with its own reply, whoever gives up."""
    await sbi.inject(container, program=SBINJECT)
    channel = sbi.Channel(container, sbi.Options(program=SBINJECT))
    reply = await channel.request(request("version", "an id"))
    point("a request keeps its id", json.loads(reply)["id"] == "an id", reply)
    said: dict[int, str] = {}

    async def one(n: int) -> None:
        text = f"{n} ü😀\n" * 20000
        path = f"/tmp/{n}"
        await channel.call("text_editor", {"command": "create", "path": path, "file_text": text})
        said[n] = await channel.call("text_editor", {"command": "view", "path": path})

    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(one, n)
    own = [n for n in said if f"\t{n} " in said[n]]
    point("many at once, and long ones, each get their own reply", len(own) == 20, sorted(own))
    with anyio.move_on_after(0.2):
        await channel.call("exec_remote_start", {"command": "sleep 100"})
        await anyio.sleep(10)
    point("after one that was given up, it answers", await channel.call("version") != "", "")
    await reopened(channel)
    pid = pipe_of(channel)
    await channel.close()
    point("its process ends with it", not Path(f"/proc/{pid}").exists(), pid)


PARTIAL = """\
read -r a; read -r b; read -r c
read -r go <{0}; printf '%s\\n' "$b"
read -r go <{0}; printf '%s\\n' "$c"
cat"""


async def turns(directory: str) -> None:
    """Whoever reads for all hands that on to one who waits, and not to one who cannot take it:
    one that is about to say that it has given up, while a long request is being sent."""
    fifo = Path(directory, f"go-{backend}")
    os.mkfifo(fifo)
    go = os.open(fifo, os.O_RDWR)
    pretended = program(directory, f"partial-{backend}", PARTIAL.format(fifo))
    channel = sbi.Channel("c", sbi.Options(program=pretended), commands=True)
    given_up = anyio.CancelScope()
    answered = {name: anyio.Event() for name in ("second", "third", "long")}

    async def command() -> None:
        with given_up:
            await channel.run(["true"])

    async def ask(name: str, **params: Any) -> None:
        with suppress(sbi.ChannelBroken):
            await channel.request(request("echo", 0, **params))
            answered[name].set()

    async with anyio.create_task_group() as group:
        group.start_soon(command)
        await anyio.wait_all_tasks_blocked()
        for name, text in ("second", ""), ("third", ""), ("long", "x" * 1000000):
            group.start_soon(lambda name=name, text=text: ask(name, text=text))
            await anyio.wait_all_tasks_blocked()
        given_up.cancel()
        await anyio.wait_all_tasks_blocked()
        seen = []
        for name in "second", "third", "long":
            os.write(go, b"go\n")
            with anyio.move_on_after(20):
                await answered[name].wait()
            seen.append(answered[name].is_set())
        point("a reply is read, whoever else gives up or is still sending", all(seen), seen)
        group.cancel_scope.cancel()
    await channel.close()
    os.close(go)


async def refusals(directory: str) -> None:
    """What cannot be asked, and what is no answer."""
    deep = program(directory, "deep", "read -r a; printf '%100000s\\n' | tr ' ' '['; exec cat")
    # What comes after them, even a reply, does not count.
    channel = sbi.Channel("c", sbi.Options(program=deep))
    async with anyio.create_task_group() as group:
        for n in range(2):
            name = f"a reply of many brackets is an error of all that wait, {n}"
            group.start_soon(raises, name, sbi.ProtocolError, channel.call("version"))
    await channel.close()
    missing = sbi.Channel("c", sbi.Options(program=f"{directory}/missing"))
    await raises("a channel without a program", sbi.SbinjectError, missing.call("version"))
    echo = sbi.Options(program=program(directory, "echo", "exec cat"))
    channel = sbi.Channel("c", echo, commands=True)
    await raises("a reply without a result", sbi.ProtocolError, channel.call("version"))
    long = channel.run(["cat"], input=bytes(REQUEST_MAX))
    await raises("a command with too long an input is not started", sbi.NotStarted, long)
    await channel.close()
    reply = '{"error": {"code": -32000, "message": "Server error", "data": "killed"}, "id": 1}'
    killed = program(directory, "killed", f"read -r a; printf '%s\\n' '{reply}'; exec cat")
    channel = sbi.Channel("c", sbi.Options(program=killed), commands=True)
    await raises("a command that was ended is an error", sbi.SbinjectError, channel.run(["true"]))
    await channel.close()
    ending = program(directory, "ending", "read -r a; printf '%s\\n' \"$a\"; read -r b; exit 4")
    channel = sbi.Channel("c", sbi.Options(program=ending), commands=True)
    await channel.request(request("echo", 0))
    name = "a container that ends while a command runs is not one without it"
    await raises(name, sbi.ContainerEnded, channel.run(["true"]), 4)
    await channel.close()


def pipe_of(channel: sbi.Channel) -> int:
    assert channel._connection
    return channel._connection.process.pid


async def reopened(channel: sbi.Channel) -> None:
    before = pipe_of(channel)
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    version = await channel.call("version")
    point("one that has broken is opened again", pipe_of(channel) != before, version)
    pid = pipe_of(channel)
    os.kill(pid, signal.SIGSTOP)
    async with anyio.create_task_group() as group:
        for n in range(3):
            name = f"one that breaks ends what is under way, {n}"
            group.start_soon(raises, name, sbi.ChannelBroken, channel.call("version"), -9)
        await anyio.wait_all_tasks_blocked()
        os.kill(pid, signal.SIGKILL)
    point("and is opened again", await channel.call("version") == version, version)


async def main() -> None:
    image = "sbinject-test/busybox:1"
    running = docker("run", "--detach", "--network=none", image)
    stopped = docker("create", "--network=none", image)
    try:
        with tempfile.TemporaryDirectory() as directory:
            await containers(running, stopped, directory)
            await impostors(directory)
            await endings(directory)
            await turns(directory)
            await refusals(directory)
            await sandboxes()
            await channels(running)
        docker("rm", "--force", running)
        gone = sbi.Channel(running, sbi.Options(program=SBINJECT))
        await raises("a channel into no container", sbi.NoContainer, gone.call("version"), 4)
    finally:
        docker("rm", "--force", running, stopped)


for backend in "asyncio", "trio":
    anyio.run(main, backend=backend)
sys.exit(bad > 0)
