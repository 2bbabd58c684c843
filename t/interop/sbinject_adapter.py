# SPDX-License-Identifier: MIT
"""Prepares sandboxes of inspect_ai with sbinject, before their tools are first used.

    from sbinject_adapter import prepare

    @solver
    def prepared() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            await prepare(sandbox())
            return state
        return solve

    Task(..., setup=prepared(), sandbox="docker")

inspect_ai then finds the tools in place and does not inject its own. The engine is found by
sbinject as by the docker command: DOCKER_HOST, DOCKER_CONTEXT and so on.

Needs Python 3.10 and nothing else; the contract it relies on is AS A SUBPROCESS in sbinject(1).
"""

import asyncio
import json
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, TypeVar

UNDO_SECONDS = 30
"""What a run that is ended may take to leave the container as it was: its 20 seconds, and more."""


def _client() -> str:
    try:
        return f"inspect_ai {version('inspect_ai')}"
    except PackageNotFoundError:
        return "inspect_ai"


CLIENT = _client()
"""Who calls; by its release, sbinject knows whose the service has to be."""


class SbinjectError(RuntimeError):
    """A run of sbinject failed; the classes below say how, by its documented exit status."""

    def __init__(self, message: str, container: str | None = None, exit: int | None = None):
        super().__init__(message)
        self.container = container
        self.exit = exit


class UsageError(SbinjectError):
    """2: an argument or the rules file is wrong."""


class EngineUnreachable(SbinjectError):
    """3: the engine cannot be reached, died, or did not answer in time."""


class NoContainer(SbinjectError):
    """4: there is no such container, or it does not run."""


class Unsupported(SbinjectError):
    """5: no rule holds, or the container cannot take the payload."""


class Mismatch(SbinjectError):
    """6: a digest or version is not the expected one."""


class NoService(SbinjectError):
    """7: the service did not come up, or is not there."""


class Interrupted(SbinjectError):
    """130: ended by a signal; what was begun has been undone."""


class ProtocolError(SbinjectError):
    """What ran did not keep to the contract: is it sbinject?"""


_FAILURES: dict[int, tuple[str, type[SbinjectError]]] = {
    1: ("failed", SbinjectError),
    2: ("usage", UsageError),
    3: ("no-engine", EngineUnreachable),
    4: ("no-container", NoContainer),
    5: ("unsupported", Unsupported),
    6: ("mismatch", Mismatch),
    7: ("no-service", NoService),
    130: ("interrupted", Interrupted),
}


@dataclass(frozen=True)
class Receipt:
    """What `sbinject --json inject` reports; see the fields of inject in sbinject(1)."""

    container: str
    id: str
    name: str
    result: str
    engine: str
    engine_version: str
    arch: str
    payload: str
    sha256: str
    release: str
    wire: int
    service: str
    path: str
    home: str
    rules: str
    pid: int
    uid: int
    ms: int


@dataclass(frozen=True)
class Status:
    """What `sbinject --json status` reports of a healthy service."""

    container: str
    id: str
    healthy: bool
    service: str
    path: str
    sha256: str
    release: str
    pid: int
    uid: int
    uptime_ms: int
    can_switch_user: bool


class Connectable(Protocol):
    """The part of inspect_ai's SandboxEnvironment that is needed here."""

    async def connection(self) -> Any: ...


async def prepare(environment: Connectable, **options: Any) -> Receipt:
    """Put the tools into the container of a sandbox; options are those of inject()."""
    connection = await environment.connection()
    if not connection.container:
        raise Unsupported(f"a sandbox of type '{connection.type}' has no container")
    return await inject(connection.container, **options)


async def inject(container: str, **options: Any) -> Receipt:
    """Run `sbinject inject CONTAINER`; see run() for the options."""
    return _typed(Receipt, await run("inject", container, **options))


async def status(container: str, **options: Any) -> Status:
    """Run `sbinject status CONTAINER`; a service that is not healthy raises."""
    return _typed(Status, await run("status", container, **options))


async def run(
    command: str,
    container: str,
    *,
    program: str = "sbinject",
    host: str | None = None,
    config: str | None = None,
    client: str | None = CLIENT,
    require: dict[str, str] | None = None,
    timeout: int = 60,
) -> dict[str, Any]:
    """Run one command on one container and return its JSON object.

    Args:
        command: inject, status or remove.
        container: Name or id.
        program: The sbinject to run.
        host: The engine; found by sbinject if not given.
        config: The rules file; found by sbinject if not given.
        client: Who calls; the release of inspect_ai that is installed, if not given.
        require: What to insist on, such as {"release": "0.1.0"} or {"sha256": "..."}.
        timeout: Seconds that sbinject has; undoing a failure has an allowance of its own.

    Raises:
        SbinjectError: The run failed; the class tells how.
        asyncio.TimeoutError: It did not end by itself, and has been ended.
        OSError: The program cannot be run.
    """
    argv = [program, command, "--json", f"--timeout={timeout}"]
    for option, value in ("host", host), ("config", config), ("client", client):
        if value is not None:
            argv.append(f"--{option}={value}")
    argv += [f"--require={key}={value}" for key, value in (require or {}).items()]
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            "--",
            container,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    )
    try:
        process = await asyncio.shield(starting)
        out, err = await asyncio.wait_for(process.communicate(), timeout + UNDO_SECONDS)
    finally:
        await asyncio.shield(_end(starting))
    return _reply(container, process.returncode, out, err)


async def _end(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    """On the first signal sbinject undoes what it has begun; asyncio would kill one half started."""
    process = await starting
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.communicate(), UNDO_SECONDS)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()


def _reply(container: str, exit: int | None, out: bytes, err: bytes) -> dict[str, Any]:
    def broken(why: str) -> ProtocolError:
        said = err.decode(errors="replace").strip() or "nothing on stderr"
        return ProtocolError(f"sbinject {why} (exit status {exit}; {said})", container, exit)

    try:
        reply = json.loads(out, object_pairs_hook=_once)
    except ValueError as why:
        raise broken(f"did not print one JSON object: {why}") from None
    if not isinstance(reply, dict) or type(reply.get("ok")) is not bool:
        raise broken("did not print an object with 'ok'")
    if reply["ok"] != (exit == 0):
        raise broken("contradicts its exit status")
    if reply["ok"]:
        return reply
    code, kind = _FAILURES.get(exit or 0, (None, SbinjectError))
    if reply.get("exit") != exit or reply.get("code") != code:
        raise broken(f"reports a failure that is not documented: {reply}")
    raise kind(f"{container}: {reply.get('error')}", container, exit)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


_Record = TypeVar("_Record", Receipt, Status)


def _typed(kind: type[_Record], reply: dict[str, Any]) -> _Record:
    """Later releases may add fields; none of those known may be missing or of another type."""
    for field in fields(kind):
        if type(reply.get(field.name)) is not field.type:
            raise ProtocolError(
                f"sbinject's field '{field.name}' is {reply.get(field.name)!r}, "
                f"not of type {getattr(field.type, '__name__', field.type)}"
            )
    return kind(**{field.name: reply[field.name] for field in fields(kind)})
