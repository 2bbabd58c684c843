# SPDX-License-Identifier: MIT
"""What is said in the log of a sample about where its tools come from."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .client import Receipt

SOURCE = "sbinject"


def package_version() -> str:
    try:
        return version("inspect-sbinject")
    except PackageNotFoundError:
        return "unknown"


def of(receipt: Receipt) -> dict[str, Any]:
    """Of one container."""
    return {
        "release": receipt.release,
        "payload": receipt.payload,
        "sha256": receipt.sha256,
        "engine": f"{receipt.engine} {receipt.engine_version}",
        "container": receipt.id,
        "arch": receipt.arch,
        "service": receipt.service,
        "result": receipt.result,
    }


def record(route: str, **data: Any) -> None:
    """An info event in the transcript of the sample."""
    from inspect_ai.log import transcript

    event = {"route": route, "inspect_sbinject": package_version(), **data}
    transcript().info(event, source=SOURCE)
