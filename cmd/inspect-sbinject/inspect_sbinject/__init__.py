# SPDX-License-Identifier: MIT
"""sbinject for inspect_ai: a sandbox provider, and a typed client of the program sbinject.

See `python -m inspect_sbinject --help` and WITH INSPECT_AI in sbinject(1).
"""

from .channel import Channel, Ran
from .client import (
    CLIENT,
    Options,
    Receipt,
    Status,
    inject,
    inject_all,
    prepare,
    prepare_all,
    run,
    status,
)
from .errors import (
    ChannelBroken,
    ContainerEnded,
    EngineUnreachable,
    Interrupted,
    Mismatch,
    NoContainer,
    NoService,
    NotStarted,
    ProtocolError,
    SbinjectError,
    Several,
    Unsupported,
    UsageError,
)

__all__ = [
    "CLIENT",
    "Channel",
    "ChannelBroken",
    "ContainerEnded",
    "EngineUnreachable",
    "Interrupted",
    "Mismatch",
    "NoContainer",
    "NoService",
    "NotStarted",
    "Options",
    "ProtocolError",
    "Ran",
    "Receipt",
    "SbinjectError",
    "Several",
    "Status",
    "Unsupported",
    "UsageError",
    "inject",
    "inject_all",
    "prepare",
    "prepare_all",
    "run",
    "status",
]
