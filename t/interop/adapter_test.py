# SPDX-License-Identifier: MIT
"""adapter_test.py: the adapter against real containers and pretended programs; TAP points.

From the environment: SBINJECT, and an engine for it and for the docker command.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import sbinject_adapter as adapter

SBINJECT = os.environ["SBINJECT"]
RULES = """\
version: 1
payloads: {tools-amd64: {source: embedded}}
install: {path: /opt/tools/inspect-sandbox-tools}
start: [start-server]
rules: [{when: {client: somebody-else}, use: tools-amd64}]
"""

bad = 0


def point(name: str, ok: bool, seen: object) -> None:
    global bad
    print(f"{'ok' if ok else 'not ok'} - adapter: {name}")
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
    def inject(container: str, **options: Any) -> Coroutine[Any, Any, adapter.Receipt]:
        return adapter.inject(container, program=SBINJECT, **options)

    def status(container: str) -> Coroutine[Any, Any, adapter.Status]:
        return adapter.status(container, program=SBINJECT)

    await raises("nothing there yet: NoService", adapter.NoService, status(running), 7)
    receipt = await inject(running)
    point("inject", (receipt.result, receipt.id) == ("injected", running), receipt)
    again = await inject(running, require={"sha256": receipt.sha256, "wire": str(receipt.wire)})
    point("again", (again.result, again.pid) == ("already", receipt.pid), again)
    now = await status(running)
    point("status", now.healthy and now.sha256 == receipt.sha256, now)
    removed = await adapter.run("remove", running, program=SBINJECT)
    point("remove", removed["result"] == "removed", removed)

    await raises("no such container", adapter.NoContainer, inject("no-such"), 4)
    await raises("a container named like an option", adapter.UsageError, inject("--help"), 2)
    await raises("a container that does not run", adapter.NoContainer, inject(stopped), 4)
    nowhere = inject(running, host=f"unix://{directory}/nowhere")
    await raises("no engine there", adapter.EngineUnreachable, nowhere, 3)
    other = inject(running, require={"release": "99.9.9"})
    await raises("another release than required", adapter.Mismatch, other, 6)
    no_file = inject(running, config=f"{directory}/no-file")
    await raises("no such rules file", adapter.UsageError, no_file, 2)
    Path(directory, "rules.yaml").write_text(RULES)
    no_rule = inject(running, config=f"{directory}/rules.yaml")
    await raises("no rule for this client", adapter.Unsupported, no_rule, 5)


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
            seen: object = await adapter.inject("c", program=pretended)
        except Exception as error:
            seen = error
        point(f"a program that {name}: ProtocolError", type(seen) is adapter.ProtocolError, seen)
    missing = adapter.inject("c", program=f"{directory}/missing")
    await raises("a program that does not exist", FileNotFoundError, missing)


async def endings(directory: str) -> None:
    """A program that hangs is told to end, and waited for; one that does not listen is killed."""
    told = Path(directory, "told")
    pid = Path(directory, "pid")
    wait = f"echo $$ >{pid}; while :; do sleep 0.05; done"
    polite = program(directory, "polite", f"trap 'echo yes >{told}; exit 130' TERM; {wait}")
    deaf = program(directory, "deaf", f"trap '' TERM; {wait}")
    adapter.UNDO_SECONDS = 3
    for name, hanging in ("hangs", polite), ("hangs and does not listen", deaf):
        call = adapter.inject("c", program=hanging, timeout=0)
        await raises(f"a program that {name}", asyncio.TimeoutError, call)
        gone = not Path("/proc", pid.read_text().strip()).exists()
        point("is gone then", gone, pid.read_text())
    point("the first was told", told.exists(), told)
    told.unlink(missing_ok=True)
    pid.unlink()
    adapter.UNDO_SECONDS = 30
    start = asyncio.create_subprocess_exec

    async def slowly(*argv: str, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*argv, **options)
        await asyncio.sleep(1)
        return process

    for name, way in ("", start), (" while it starts", slowly):
        asyncio.create_subprocess_exec = way
        task = asyncio.create_task(adapter.inject("c", program=polite))
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait([task])
        point(f"one whose caller gives up{name} is told", task.cancelled() and told.exists(), task)
        told.unlink(missing_ok=True)
        pid.unlink()
    asyncio.create_subprocess_exec = start


async def sandboxes() -> None:
    class Connection:
        type = "local"
        container = None

    class Sandbox:
        async def connection(self) -> Connection:
            return Connection()

    await raises("a sandbox without a container", adapter.Unsupported, adapter.prepare(Sandbox()))


async def main() -> None:
    image = "sbinject-test/busybox:1"
    running = docker("run", "--detach", "--network=none", image)
    stopped = docker("create", "--network=none", image)
    try:
        with tempfile.TemporaryDirectory() as directory:
            await containers(running, stopped, directory)
            await impostors(directory)
            await endings(directory)
            await sandboxes()
    finally:
        docker("rm", "--force", running, stopped)


asyncio.run(main())
sys.exit(bad > 0)
