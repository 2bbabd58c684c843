# SPDX-License-Identifier: MIT
"""A provider that is not docker, as those for other clusters are not; in truth, docker is below."""

from typing import Any

from inspect_ai.util import ExecResult, SandboxConnection, SandboxEnvironment, sandboxenv
from inspect_ai.util._sandbox.docker.docker import DockerSandboxEnvironment as Docker


@sandboxenv(name="other")
class Other(SandboxEnvironment):
    def __init__(self, below: SandboxEnvironment):
        super().__init__()
        self.below = below

    @classmethod
    async def task_init(cls, task_name: str, config: Any) -> None:
        await Docker.task_init(task_name, config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        environments = await Docker.sample_init(task_name, config, metadata)
        return {name: cls(environment) for name, environment in environments.items()}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Any,
        environments: dict[str, Any],
        interrupted: bool,
    ) -> None:
        below = {name: environment.below for name, environment in environments.items()}
        await Docker.sample_cleanup(task_name, config, below, interrupted)

    @classmethod
    async def task_cleanup(cls, task_name: str, config: Any, cleanup: bool) -> None:
        await Docker.task_cleanup(task_name, config, cleanup)

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
        return await self.below.exec(
            cmd, input, cwd, env or {}, user, timeout, timeout_retry, concurrency
        )

    async def write_file(self, file: str, contents: str | bytes) -> None:
        await self.below.write_file(file, contents)

    async def read_file(self, file: str, text: bool = True) -> Any:
        return await self.below.read_file(file, text)

    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        return await self.below.connection(user=user)
