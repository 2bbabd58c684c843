# SPDX-License-Identifier: MIT
"""INSPECT_SBINJECT=1: where inspect_ai would put its own tools into a container, ours come.

By sbinject where the provider is docker; for all other providers, our program is what inspect_ai
itself injects. In a container that the provider 'sbinject' has prepared, always by sbinject.
"""

import io
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from inspect_ai.util._sandbox.docker.docker import DockerSandboxEnvironment

from . import contract, provenance
from .client import ended
from .errors import SbinjectError
from .program import program
from .provider import SbinjectSandboxEnvironment, put

_tools: Any = import_module("inspect_ai.tool._sandbox_tools_utils.sandbox")


def on() -> bool:
    return os.environ.get("INSPECT_SBINJECT") == "1"


def _failure(message: str, cause: Exception | None = None) -> Exception:
    """One that ends the sample, and is not told to the model."""
    error: Exception = _tools.SandboxInjectionError(message, cause)
    return error


async def _put(container: str) -> None:
    [receipt] = await put([container])
    if not _is_found(receipt.adopted_by):
        raise _failure(
            f"{receipt.name}: the tools are in the container, but {receipt.placed} is at the path "
            f"where this inspect_ai looks for them (read-only, noexec or full?)"
        )
    provenance.record("docker", containers={"": provenance.of(receipt)})


def _is_found(by: str | None) -> bool:
    """By what sbinject says which releases use what it has placed."""
    name, _, newest = (by or "none").partition(" up to ")
    if newest:
        return contract.release_of(contract.client()) <= contract.release_of(f"{name} {newest}")
    return name == "inspect_ai"


async def _inject(sandbox: Any, original: Any) -> None:
    inner = getattr(sandbox, "_sandbox", sandbox)
    if isinstance(inner, SbinjectSandboxEnvironment):
        await _put(inner.receipt.id)
    elif on() and isinstance(inner, DockerSandboxEnvironment):
        complaint = contract.complaint(docker=True)
        if complaint:
            raise _failure(complaint)
        connection = await sandbox.connection()
        await _put(connection.container)
    else:
        await original(sandbox)


@cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    """With our program in the forms, and under the names, of what this release brings."""
    return tempfile.TemporaryDirectory(prefix="inspect-sbinject-")


async def _artifact(arch: str, musl: bool) -> tuple[str, bytes]:
    directory = Path(_directory().name, "all")
    if not directory.exists():
        # Samples may do this at the same time: each sees all of it, or nothing.
        new = Path(tempfile.mkdtemp(dir=_directory().name))
        argv = [program(), "payloads", "--json", f"--for={contract.client()}", f"--output={new}"]
        exit, _, err = await ended(argv, 60)
        if exit != 0:
            raise _failure(err.decode(errors="replace").strip())
        with suppress(OSError):  # another was first
            new.rename(directory)
    name = f"inspect-sandbox-tools-{arch}{'-musl' if musl else ''}-v*"
    files = sorted(directory.glob(name))
    if not files:
        raise _failure(f"sbinject has no program for {arch}")
    data = files[0].read_bytes()
    # A name of its own: inspect_ai keeps what it unpacks under it.
    return f"sbinject-{arch}-{sha256(data).hexdigest()[:12]}", data


def _install() -> None:
    original_inject = _tools._inject_container_tools_code
    original_open = _tools._open_executable_for_arch

    async def inject_tools(sandbox: Any) -> None:
        try:
            await _inject(sandbox, original_inject)
        except SbinjectError as error:
            raise _failure(str(error), error) from error
        except OSError as error:  # such as no docker command, or TimeoutError
            raise _failure(f"docker cannot be asked for the container: {error}", error) from error

    @asynccontextmanager
    async def open_executable(arch: str, *musl: bool) -> AsyncIterator[tuple[str, BinaryIO]]:
        if not on():
            async with original_open(arch, *musl) as found:
                yield found
            return
        complaint = contract.complaint(docker=False)
        if complaint:
            raise _failure(complaint)
        name, data = await _artifact(arch, any(musl))
        provenance.record("artifact", file_sha256=sha256(data).hexdigest(), arch=arch)
        yield name, io.BytesIO(data)

    _tools._inject_container_tools_code = inject_tools
    _tools._open_executable_for_arch = open_executable


_install()
