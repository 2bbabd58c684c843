# SPDX-License-Identifier: MIT
"""Check that all is well: the program, the engine, inspect_ai, and one throw-away container.

The container has nothing in it but our program, and is removed again. Exit status as of sbinject:
0 all is well, 1 something else failed, 3 no engine, 4 no container, 5 an inspect_ai or a container
that is not supported, 6 another version, 7 no service.
"""

import io
import json
import secrets
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from . import contract, provenance
from .channel import Channel
from .client import CLIENT, Options, ended, inject
from .errors import FAILURES, EngineUnreachable, SbinjectError, Unsupported
from .program import program

SECONDS = 120
PAYLOAD = "/program"
WIDTH = 12


def _say(what: str, text: str) -> None:
    print(f"{what:<{WIDTH}}{text}")


async def _ask(*argv: str) -> bytes:
    """What it prints; of a failure, its last line, as the exception of its exit status."""
    try:
        exit, out, err = await ended(argv, SECONDS)
    except OSError as error:
        raise SbinjectError(f"cannot run '{argv[0]}': {error.strerror}", exit=1) from error
    if exit != 0:
        said = err.decode(errors="replace").strip().splitlines()
        kind = FAILURES.get(exit, ("", SbinjectError))[1]
        text = said[-1].removeprefix("sbinject: ") if said else f"{argv} ended with status {exit}"
        raise kind(text, exit=exit)
    return out


async def _docker(*argv: str) -> str:
    try:
        return (await _ask("docker", *argv)).decode().strip()
    except SbinjectError as error:
        raise SbinjectError(f"docker: {error}", exit=1) from error


async def _program() -> None:
    version = (await _ask(program(), "--version")).decode().splitlines()[0]
    _say("program", f"{version}, {program()}")
    _say("package", f"inspect-sbinject {provenance.package_version()}")


async def _engine() -> None:
    await _ask(program(), "ls", "--json")
    _say("engine", "answers")


async def _inspect_ai() -> None:
    client = contract.client()
    for docker, routes in (True, "sbinject, docker"), (False, "all other providers"):
        complaint = contract.complaint(docker)
        if complaint:
            raise Unsupported(complaint, exit=5)
        _say("inspect_ai", f"{CLIENT} is known, for {routes}")
    if client != CLIENT:
        _say("inspect_ai", f"treated as {client}")


def _image(data: bytes) -> bytes:
    """Of a root file system with our program and a directory."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in "tmp", "var", "var/tmp":
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o1777 if "tmp" in name else 0o755
            tar.addfile(directory)
        info = tarfile.TarInfo(PAYLOAD[1:])
        info.size, info.mode = len(data), 0o755
        tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


async def _payload() -> tuple[str, bytes]:
    """The one for the engine's architecture."""
    said = await _docker("version", "--format", "{{.Server.Version}} {{.Server.Arch}}")
    version, arch = said.rsplit(" ", 1)
    _say("docker", f"{version}, {arch}")
    for line in (await _ask(program(), "payloads", "--json")).splitlines():
        payload = json.loads(line)
        if payload["arch"] == arch:
            data = await _ask(program(), "payloads", "--extract", payload["name"])
            return arch, data
    raise Unsupported(f"this sbinject has no payload for {arch}", exit=5)


@asynccontextmanager
async def _container() -> AsyncIterator[str]:
    arch, data = await _payload()
    name = f"sbinject-doctor-{secrets.token_hex(6)}"
    imported = subprocess.run(
        ["docker", "import", f"--platform=linux/{arch}", "-", name],
        input=_image(data),
        capture_output=True,
    )
    if imported.returncode != 0:
        raise SbinjectError(f"docker: {imported.stderr.decode(errors='replace').strip()}", exit=1)
    try:
        # It waits for requests, of which none come.
        options = ["--detach", "--interactive", "--network=none", f"--name={name}"]
        yield await _docker("run", *options, name, PAYLOAD, "pipe")
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True)
        subprocess.run(["docker", "rmi", "--force", name], capture_output=True)


async def _call() -> None:
    async with _container() as container:
        receipt = await inject(container, client=contract.client())
        _say("container", f"{receipt.result} {receipt.payload} in {receipt.ms} ms")
        if receipt.engine != "docker":
            raise EngineUnreachable("sbinject and docker talk to different engines", exit=3)
        channel = Channel(container, Options(client=contract.client()))
        try:
            _say("call", f"answered by release {await channel.call('version')}")
        finally:
            await channel.close()


async def main() -> int:
    """All checks, up to the first that fails; the exit status."""
    try:
        for check in _program, _engine, _inspect_ai, _call:
            await check()
    except SbinjectError as error:
        print(f"inspect_sbinject: {error}", file=sys.stderr)
        return error.exit if error.exit in FAILURES else 1
    except TimeoutError:
        print("inspect_sbinject: the engine takes too long", file=sys.stderr)
        return 3
    _say("result", "all is well")
    return 0
