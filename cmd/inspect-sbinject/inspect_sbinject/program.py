# SPDX-License-Identifier: MIT
"""The program sbinject: the one in this package, or $SBINJECT."""

import os
import sys
from pathlib import Path

OWN = Path(__file__).with_name("bin") / "sbinject"


def program() -> str:
    """Its path, or its name if this package was installed without one."""
    return os.environ.get("SBINJECT") or (str(OWN) if OWN.exists() else "sbinject")


def main() -> None:
    """The command sbinject: become the program."""
    path = program()
    try:
        os.execvp(path, ["sbinject", *sys.argv[1:]])
    except OSError as error:
        print(f"sbinject: cannot run '{path}': {error.strerror}", file=sys.stderr)
        sys.exit(1)
