# SPDX-License-Identifier: MIT
"""python -m inspect_sbinject COMMAND."""

import argparse
import sys

import anyio

from . import doctor
from .provenance import package_version


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m inspect_sbinject")
    parser.add_argument("--version", action="version", version=package_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser(
        "doctor",
        help="check that all is well: program, engine, inspect_ai, one throw-away container",
        description=doctor.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    return anyio.run(doctor.main)


if __name__ == "__main__":
    sys.exit(main())
