# SPDX-License-Identifier: MIT
"""What inspect_ai loads; in an environment without what this needs, it says so when it is used."""

import os
from typing import Any

try:
    from . import provider, switch  # noqa: F401
except (ImportError, AttributeError) as error:
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.util import sandboxenv

    from .contract import OLDEST

    _why = (
        f"inspect-sbinject works with inspect_ai {OLDEST} and later, and cannot use the one that "
        f"is installed: {error}"
    )

    class _Refusing(type):
        def __getattr__(cls, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise PrerequisiteError(_why)

    if os.environ.get("INSPECT_SBINJECT") == "1":
        # Of what fails here inspect_ai only warns, and would go on with tools of its own.
        raise SystemExit(_why) from error

    @sandboxenv(name="sbinject")
    class SbinjectSandboxEnvironment(metaclass=_Refusing):
        """In place of the provider."""
