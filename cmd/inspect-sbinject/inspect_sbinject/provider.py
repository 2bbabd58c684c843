# SPDX-License-Identifier: MIT
"""The sandbox provider 'sbinject': the docker provider, with the tools put in before all else, and
their calls over one channel for each container."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any, cast

import anyio
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.util import ExecResult, SandboxEnvironment, sandboxenv
from inspect_ai.util._sandbox.docker.docker import DockerSandboxEnvironment
from inspect_ai.util._sandbox.limits import SandboxEnvironmentLimits

from . import channels, contract, pieces, provenance
from .channel import SERVER_ERROR, Channel
from .client import Options, Receipt, inject_all
from .errors import EngineUnreachable, NoContainer, SbinjectError
from .program import program

ROOT = ("root", "0", "root:root", "0:0")
WHO = 'while read -r line; do case $line in Uid:*) echo "$line" ;; esac; done </proc/self/status'
"""Nothing that is looked up in a PATH, where the agent may have put a program."""

_seen: ContextVar[dict[str, str] | None] = ContextVar("inspect_sbinject_seen", default=None)
"""The containers that docker compose has listed: name by service."""


def options() -> Options:
    """Those of each run of sbinject, for inspect_ai."""
    return Options(client=contract.client(), graft=os.environ.get("INSPECT_SBINJECT_GRAFT") == "1")


async def put(containers: list[str]) -> list[Receipt]:
    """One run of sbinject."""
    try:
        return await inject_all(containers, **vars(options()))
    except TimeoutError as error:
        raise EngineUnreachable(f"{containers[0]}: sbinject did not end in time") from error
    except OSError as error:
        raise SbinjectError(f"cannot run '{program()}': {error.strerror}") from error


@cache
def _runs_commands() -> bool:
    """An sbinject that $SBINJECT names may be an older one."""
    argv = [program(), "pipe", "--help"]
    try:
        asked = subprocess.run(argv, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise SbinjectError(f"cannot run '{argv[0]}': {error}") from error
    return b"--exec" in asked.stdout


@contextmanager
def _watching() -> Iterator[dict[str, str]]:
    """The docker provider lists the containers of a sample by itself; once is enough."""
    token = _seen.set({})
    try:
        yield cast(dict[str, str], _seen.get())
    finally:
        _seen.reset(token)


def _watch() -> None:
    compose: Any = import_module("inspect_ai.util._sandbox.docker.compose")
    compose_ps = compose.compose_ps

    async def watched(*args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        services = cast(list[dict[str, Any]], await compose_ps(*args, **kwargs))
        seen = _seen.get()
        if seen is not None:
            for service in services:
                seen.setdefault(service["Service"], service["Name"])
        return services

    compose.compose_ps = watched


_watch()


@sandboxenv(name="sbinject")
class SbinjectSandboxEnvironment(DockerSandboxEnvironment):
    """A service of a docker compose project that sbinject has prepared."""

    _channel: Channel
    _pieces: pieces.Pieces
    receipt: Receipt
    _root_by_default: bool | None

    @classmethod
    async def task_init(cls, task_name: str, config: Any) -> None:
        complaint = contract.complaint(docker=True)
        if complaint:
            raise PrerequisiteError(complaint)
        await super().task_init(task_name, config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        with _watching() as seen:
            environments = await super().sample_init(task_name, config, metadata)
        try:
            await cls._prepare(environments, seen)
        except BaseException:  # also where the sample is cancelled
            with anyio.CancelScope(shield=True):
                await cls.sample_cleanup(task_name, config, environments, False)
            raise
        return environments

    @classmethod
    async def _prepare(
        cls, environments: dict[str, SandboxEnvironment], seen: dict[str, str]
    ) -> None:
        """One run of sbinject for all services of the sample."""
        services = {name: cast(DockerSandboxEnvironment, e) for name, e in environments.items()}
        receipts = await put([seen[e._service] for e in services.values()])
        commands = _runs_commands()  # it may fail, and what is half adopted cannot be cleaned up
        for environment, receipt in zip(services.values(), receipts):
            environment.__class__ = cls
            cast(SbinjectSandboxEnvironment, environment)._adopt(receipt, commands)
        provenance.record(
            "provider",
            containers={name: provenance.of(r) for name, r in zip(services, receipts)},
        )

    def _adopt(self, receipt: Receipt, commands: bool) -> None:
        self.receipt = receipt
        self._root_by_default = None
        self._pieces = pieces.Pieces()
        self._channel = Channel(receipt.id, options(), commands=commands)
        channels.register(self._project.name, self._service, self._channel)

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Any,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        async with anyio.create_task_group() as group:
            for environment in environments.values():
                if isinstance(environment, cls):
                    group.start_soon(environment._channel.close)
        await super().sample_cleanup(task_name, config, environments, interrupted)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        request = _request(cmd, input)
        if request is not None and await self._serves(user):
            return await self._call(request, env or {}, timeout, concurrency)
        return await super().exec(cmd, input, cwd, env, user, timeout, timeout_retry, concurrency)

    async def _serves(self, user: str | None) -> bool:
        """Whether the program in the channel is run as that user."""
        if self.receipt.service != "root":
            return user is None
        if user is not None:
            return user in ROOT
        if self._root_by_default is None:
            asked = await super().exec(["/bin/sh", "-c", WHO])
            self._root_by_default = asked.success and asked.stdout.split()[1:2] == ["0"]
        return self._root_by_default

    async def _call(
        self, request: dict[str, Any], env: dict[str, str], timeout: int | None, limited: bool
    ) -> ExecResult[str]:
        """As the program `exec` does it; one that takes too long is left to itself, as there."""
        limit = int(env.get(pieces.LIMIT, 0))
        if limit and request["method"] == pieces.METHOD:
            return ExecResult(True, 0, self._pieces.answer(request, limit), "")
        async with channels.limit() if limited else nullcontext():
            try:
                with anyio.fail_after(timeout):
                    reply = await self._channel.request(request)
            except TimeoutError:
                raise TimeoutError(f"Command timed out after {timeout} seconds") from None
            except NoContainer as error:
                raise channels.unavailable(error) from error
        wrong = _service_error(reply)
        if wrong is not None:
            return ExecResult(False, 1, "", f"sbinject: {self._channel.container}: {wrong}")
        if limit:
            return ExecResult(True, 0, self._pieces.first(request, reply, limit), "")
        return ExecResult(True, 0, _last(reply), "")


def _request(cmd: list[str], input: str | bytes | None) -> dict[str, Any] | None:
    """If the command is a call of the tools."""
    if cmd != [channels.TOOLS_CLI, "exec"] or not input:
        return None
    try:
        request = json.loads(input)
    except ValueError:
        return None
    return request if isinstance(request, dict) and "method" in request else None


def _service_error(reply: str) -> str | None:
    """What is wrong with the service, if that is why there is no result."""
    if len(reply) > 4096 or '"error"' not in reply:
        return None
    error = json.loads(reply).get("error")
    if not isinstance(error, dict) or error.get("code") != SERVER_ERROR:
        return None
    return f"{error.get('message')}: {error.get('data')}"


def _last(reply: str) -> str:
    """What the docker provider keeps of an output."""
    data = reply.encode()
    return data[-SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE :].decode(errors="replace")
