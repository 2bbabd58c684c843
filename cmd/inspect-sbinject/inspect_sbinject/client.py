# SPDX-License-Identifier: MIT
"""Run sbinject from Python: typed results, an exception for each exit status.

Relies on AS A SUBPROCESS in sbinject(1). Works on asyncio and on trio.
"""

import json
import subprocess
import types
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import anyio
import anyio.to_thread

from .errors import FAILURES, ProtocolError, SbinjectError, Unsupported
from .program import program as default_program

UNDO_SECONDS = 30
"""What a run that is ended may take to leave the container as it was: its 20 seconds, and more."""
AT_ONCE_MAX = 256


def _client() -> str:
    try:
        return f"inspect_ai {version('inspect_ai')}"
    except PackageNotFoundError:
        return "inspect_ai"


CLIENT = _client()
"""Who calls; by its release, sbinject knows which user the service has to run as."""


@dataclass(frozen=True)
class Receipt:
    """What `sbinject inject --json` reports of a container; see inject in sbinject(1)."""

    container: str
    id: str
    name: str
    result: str
    engine: str
    engine_version: str
    arch: str
    payload: str
    sha256: str
    service: str
    path: str | None
    home: str
    rules: str
    ms: int
    wire: int
    release: str | None = None
    pid: int | None = None
    uid: int | None = None
    placed: str | None = None
    adopted_by: str | None = None
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Status:
    """What `sbinject status --json` reports of a healthy service."""

    container: str
    id: str
    healthy: bool
    service: str
    path: str | None
    sha256: str
    release: str
    pid: int
    uid: int
    uptime_ms: int
    can_switch_user: bool


class Connectable(Protocol):
    """The part of inspect_ai's SandboxEnvironment that is needed here."""

    async def connection(self) -> Any: ...


@dataclass(frozen=True)
class Options:
    """Of a run of sbinject.

    host, config and program are found if not given. client is who calls. require is what to insist
    on, such as {"release": "0.1.0"}. timeout is in seconds, for each container; undoing a failure
    has an allowance of its own. graft allows a helper container for a read-only root; start also
    injects into stopped containers, and starts them.
    """

    program: str | None = None
    host: str | None = None
    config: str | None = None
    client: str | None = CLIENT
    require: dict[str, str] = field(default_factory=dict)
    timeout: int = 60
    graft: bool = False
    start: bool = False

    def argv(self, command: str, *more: str) -> list[str]:
        """The program, the command and its options."""
        argv = [self.program or default_program(), command, f"--timeout={self.timeout}", *more]
        for option, value in ("host", self.host), ("config", self.config), ("client", self.client):
            if value is not None:
                argv.append(f"--{option}={value}")
        argv += [f"--require={key}={value}" for key, value in self.require.items()]
        argv += [f"--{name}" for name in ("graft", "start") if getattr(self, name)]
        return argv


async def _container_of(environment: Connectable) -> str:
    connection = await environment.connection()
    if not connection.container:
        raise Unsupported(f"a sandbox of type '{connection.type}' has no container")
    return str(connection.container)


async def prepare(environment: Connectable, **options: Any) -> Receipt:
    """Put the tools into the container of a sandbox; options are those of Options."""
    return await inject(await _container_of(environment), **options)


async def prepare_all(environments: dict[str, Any], **options: Any) -> dict[str, Receipt]:
    """Put the tools into all containers of a sample, in one run; receipts by service."""
    names = {service: await _container_of(e) for service, e in environments.items()}
    receipts = await inject_all(list(names.values()), **options)
    return dict(zip(names, receipts))


async def inject(container: str, **options: Any) -> Receipt:
    """Run `sbinject inject CONTAINER`; see Options."""
    return (await inject_all([container], **options))[0]


async def inject_all(containers: Sequence[str], **options: Any) -> list[Receipt]:
    """Run one `sbinject inject` for several; the first that failed raises."""
    more = [f"--jobs={min(len(containers), AT_ONCE_MAX)}"] if len(containers) > 1 else []
    replies = await _run(Options(**options), "inject", containers, *more)
    return [_typed(Receipt, replies[container]) for container in containers]


async def status(container: str, **options: Any) -> Status:
    """Run `sbinject status CONTAINER`; a service that is not healthy raises."""
    return _typed(Status, await run("status", container, **options))


async def run(command: str, container: str, **options: Any) -> dict[str, Any]:
    """Run inject, status or remove on one container and return its JSON object.

    Raises:
        SbinjectError: The run failed; the class tells how.
        TimeoutError: It did not end by itself, and has been ended.
        OSError: The program cannot be run.
    """
    return (await _run(Options(**options), command, [container]))[container]


async def _run(
    options: Options, command: str, containers: Sequence[str], *more: str
) -> dict[str, dict[str, Any]]:
    """Their JSON objects, by container."""
    argv = options.argv(command, "--json", *more)
    # Several may have to wait for each other.
    rounds = -(-len(containers) // AT_ONCE_MAX)
    exit, out, err = await ended([*argv, "--", *containers], options.timeout * rounds)
    return _Answer(containers, exit, out, err).replies()


async def ended(argv: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
    """Run a program to its end: its exit status and what it said.

    Started and waited for without the event loop's child watcher, so one that is cancelled half way
    is told to end, and can undo what it has begun, whichever loop this is.
    """
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said: list[bytes] = [b"", b""]

    def wait() -> None:
        said[:] = process.communicate()

    try:
        with anyio.fail_after(seconds + UNDO_SECONDS):
            await anyio.to_thread.run_sync(
                wait, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
    finally:
        if process.poll() is None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_end, process, limiter=anyio.CapacityLimiter(1))
    return process.returncode, said[0], said[1]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """On the first signal sbinject undoes what it has begun."""
    process.terminate()
    try:
        process.wait(UNDO_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Answer:
    """What a run said about some containers."""

    def __init__(self, containers: Sequence[str], exit: int, out: bytes, err: bytes):
        self.containers, self.exit, self.out, self.err = containers, exit, out, err

    def broken(self, why: str) -> ProtocolError:
        said = self.err.decode(errors="replace").strip() or "nothing on stderr"
        message = f"sbinject {why} (exit status {self.exit}; {said})"
        return ProtocolError(message, self.containers[0], self.exit)

    def replies(self) -> dict[str, dict[str, Any]]:
        """All of them, or the first failure as an exception."""
        found: dict[str, dict[str, Any]] = {}
        for reply in self._objects():
            if not reply["ok"]:
                raise self._failure(reply)
            found[str(reply.get("container"))] = reply
        if self.exit != 0:
            raise self.broken("contradicts its exit status")
        if missing := [c for c in self.containers if c not in found]:
            raise self.broken(f"says nothing about '{missing[0]}'")
        return found

    def _objects(self) -> list[dict[str, Any]]:
        lines = self.out.splitlines()
        if not lines or len(lines) > len(self.containers):
            what = "one JSON object" if len(self.containers) == 1 else "a JSON object for each"
            raise self.broken(f"did not print {what}")
        try:
            objects = [json.loads(line, object_pairs_hook=_once) for line in lines]
        except ValueError as why:
            raise self.broken(f"did not print JSON: {why}") from None
        for reply in objects:
            if not isinstance(reply, dict) or type(reply.get("ok")) is not bool:
                raise self.broken("did not print an object with 'ok'")
        return objects

    def _failure(self, reply: dict[str, Any]) -> SbinjectError:
        if self.exit == 0:
            return self.broken("contradicts its exit status")
        exit = reply.get("exit")
        code, kind = FAILURES.get(exit if type(exit) is int else 0, (None, SbinjectError))
        if reply.get("code") != code or self.exit not in (exit, 8, 130):
            return self.broken(f"reports a failure that is not documented: {reply}")
        container = str(reply.get("container", self.containers[0]))
        return kind(f"{container}: {reply.get('error')}", container, exit)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


_Record = TypeVar("_Record", Receipt, Status)


def _fits(value: object, kind: Any) -> bool:
    if isinstance(kind, types.UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is list:
        return type(value) is list and all(_fits(one, get_args(kind)[0]) for one in value)
    return type(value) is kind


def _typed(kind: type[_Record], reply: dict[str, Any]) -> _Record:
    """Later releases may add fields; those known have to be of their type, and there if required."""
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for known in fields(kind):
        if known.name not in reply and not (
            known.default is MISSING and known.default_factory is MISSING
        ):
            continue
        value = reply.get(known.name)
        if known.name not in reply or not _fits(value, hints[known.name]):
            name = getattr(hints[known.name], "__name__", hints[known.name])
            raise ProtocolError(f"sbinject's field '{known.name}' is {value!r}, not of type {name}")
        values[known.name] = value
    return kind(**values)
