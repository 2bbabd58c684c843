# SPDX-License-Identifier: MIT
"""Commands of the docker provider over a channel, for the containers that have one.

The provider keeps all that it does around a command: its timeout in the container, what it makes of
the exit status and of messages. Only `docker compose exec` below it is replaced, and only where the
channel runs the command just as that would; otherwise that runs it.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from logging import getLogger
from typing import Any, cast
from weakref import WeakValueDictionary

import anyio
from inspect_ai.util import ExecResult, concurrency

from .channel import KEEP_MAX, Channel
from .errors import ContainerEnded, NoContainer, NotStarted, SbinjectError

logger = getLogger(__name__)

TOOLS_DIRECTORY = "/var/tmp/.da7be258e003d428"
"""Where inspect_ai looks for its tools."""
TOOLS_CLI = f"{TOOLS_DIRECTORY}/inspect-sandbox-tools"

_channels: WeakValueDictionary[tuple[str, str], Channel] = WeakValueDictionary()


def register(project: str, service: str, channel: Channel) -> None:
    """For as long as somebody has the channel."""
    _channels[project, service] = channel


def all_commands() -> bool:
    """Whether all commands are to go over the channel, not only those of inspect_ai about its
    tools."""
    return os.environ.get("INSPECT_SBINJECT_EXEC") == "1"


@asynccontextmanager
async def limit() -> AsyncIterator[None]:
    """That of the docker provider for its commands at a time."""
    count = int(os.environ.get("INSPECT_DOCKER_CLI_CONCURRENCY", max(2 * (os.cpu_count() or 1), 4)))
    async with concurrency("docker-cli", count, visible=False):
        yield


@dataclass
class _Command:
    """The arguments of `docker compose exec`."""

    service: str = ""
    argv: list[str] = field(default_factory=list)
    cwd: str | None = None
    user: str | None = None
    env: dict[str, str] = field(default_factory=dict)

    @property
    def about_tools(self) -> bool:
        """As inspect_ai asks, before each call, whether its tools are in place."""
        names = TOOLS_DIRECTORY, os.path.basename(TOOLS_DIRECTORY), TOOLS_CLI
        return self.argv[-1] != "start-server" and any(arg in names for arg in self.argv)


def _parse(arguments: Sequence[str]) -> _Command | None:
    """None: there are options that the provider of today does not use."""
    command = _Command()
    rest = list(arguments)
    while len(rest) > 1 and rest[0].startswith("-"):
        option, value, *rest = rest
        if option == "--workdir":
            command.cwd = value
        elif option == "--user":
            command.user = value
        elif option == "--env":
            name, _, command.env[name] = value.partition("=")
        else:
            return None
    if len(rest) < 2:
        return None
    command.service, *command.argv = rest
    return command


def unavailable(error: SbinjectError) -> Exception:
    """As the docker provider reports a container that has gone."""
    util = import_module("inspect_ai.util")
    kind = getattr(util, "SandboxUnavailableError", RuntimeError)
    return cast(Exception, kind(f"The sandbox is not running and cannot execute: {error}"))


async def _over(
    channel: Channel,
    command: _Command,
    input: str | bytes | None,
    timeout: int | None,
    keep: int,
) -> ExecResult[str]:
    data = input.encode() if isinstance(input, str) else input
    try:
        with anyio.fail_after(timeout):
            ran = await channel.run(
                command.argv,
                cwd=command.cwd,
                env=command.env,
                user=command.user,
                input=data or None,
                keep=keep,
            )
    except TimeoutError:
        raise TimeoutError(f"Command '{command.argv}' timed out after {timeout} seconds") from None
    out, err = (text.decode(errors="replace") for text in (ran.stdout, ran.stderr))
    return ExecResult(ran.status == 0, ran.status, out, err)


def _install() -> None:
    docker: Any = import_module("inspect_ai.util._sandbox.docker.docker")
    original = docker.compose_exec

    async def compose_exec(
        arguments: list[str],
        *,
        project: Any,
        timeout: int | None = None,
        concurrency: bool = True,
        input: str | bytes | None = None,
        output_limit: int | None = None,
        **more: Any,
    ) -> ExecResult[str]:
        command = _parse(arguments)
        channel = _channels.get((project.name, command.service)) if command else None
        if command and channel and (all_commands() or command.about_tools):
            try:
                async with limit() if concurrency else nullcontext():
                    return await _over(channel, command, input, timeout, output_limit or KEEP_MAX)
            except ContainerEnded as error:
                raise unavailable(error) from error
            except (NotStarted, NoContainer) as error:
                # Nothing ran. What there is to say about that, docker says.
                logger.info("by docker compose exec, not by sbinject: %s", error)
        result: ExecResult[str] = await original(
            arguments,
            project=project,
            timeout=timeout,
            concurrency=concurrency,
            input=input,
            output_limit=output_limit,
            **more,
        )
        return result

    docker.compose_exec = compose_exec


_install()
