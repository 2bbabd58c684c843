# SPDX-License-Identifier: MIT
"""What is found out in one sample, and which program is in its container."""

import hashlib
from typing import Any

from inspect_ai.solver import TaskState
from inspect_ai.util import sandbox

CLI = "/var/tmp/.da7be258e003d428/inspect-sandbox-tools"


class Checks:
    """What was found, by name; kept in the store of the sample until it is scored."""

    def __init__(self, state: TaskState):
        self.found: list[dict[str, Any]] = state.store.get("checks", [])
        state.store.set("checks", self.found)

    def add(self, name: str, ok: bool, seen: object) -> None:
        self.found.append({"name": name, "ok": bool(ok), "seen": str(seen)[:500]})

    def equal(self, name: str, seen: object, wanted: object) -> None:
        self.add(name, seen == wanted, f"{seen!r}, not {wanted!r}")


async def program_digest() -> str:
    """Through the engine: nothing in the container has to be able to read it."""
    return hashlib.sha256(await sandbox().read_file(CLI, text=False)).hexdigest()
