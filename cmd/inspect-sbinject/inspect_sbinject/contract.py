# SPDX-License-Identifier: MIT
"""Is the installed inspect_ai one that this package was made for?

Not its number decides, but the digests of those files on which something here, or in the program in
the container, relies. contract.tsv has them; t/interop/hosts.sh makes it.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .client import CLIENT
from .errors import SbinjectError
from .program import program

INSIST = "INSPECT_SBINJECT_CONTRACT"
DOCKER = "util/_sandbox/docker/"
NONE = "-"
"""For the digest of a file that a release does not have."""
OLDEST = "0.3.213"


@cache
def known() -> dict[str, set[str]]:
    """The digests of each file, and NONE."""
    files: dict[str, set[str]] = {}
    for line in Path(__file__).with_name("contract.tsv").read_text().splitlines():
        if not line.startswith("#"):
            digest, path = line.split("\t")
            files.setdefault(path, set()).add(digest)
    return files


@cache
def newest() -> str:
    """The newest release whose files are known."""
    head = Path(__file__).with_name("contract.tsv").read_text().splitlines()[1]
    return head.rsplit(" ", 1)[1]


def _installed() -> Path | None:
    spec = find_spec("inspect_ai")
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


def _unknown(package: Path, docker: bool) -> Iterator[str]:
    for path, digests in known().items():
        if path.startswith(DOCKER) and not docker:
            continue
        try:
            digest = hashlib.sha256((package / path).read_bytes()).hexdigest()
        except OSError:
            digest = NONE
        if digest not in digests:
            yield path


@cache
def complaint(docker: bool) -> str | None:
    """One line that says which file is not known, and what to do; None if all are.

    docker: also with the files of its docker provider.
    """
    package = _installed()
    if package is None:
        return "inspect_ai is not installed"
    paths = list(_unknown(package, docker))
    if not paths or os.environ.get(INSIST) == "any":
        return None
    more = f" and {len(paths) - 1} more are" if len(paths) > 1 else " is"
    return (
        f"inspect-sbinject does not know this {CLIENT}: its file {paths[0]}{more} not of any "
        f"release from {OLDEST} to {newest()}; use another release of one of the two, or set "
        f"{INSIST}=any to go on all the same"
    )


@cache
def client() -> str:
    """Who calls, for sbinject: a release that it does not know yet, with files that are known, is
    like the newest that it knows."""
    argv = [program(), "hosts", "--json"]
    try:
        listed = subprocess.run(argv, check=True, capture_output=True, timeout=60)
    except OSError as error:
        raise SbinjectError(f"cannot run '{argv[0]}': {error.strerror}", exit=1) from error
    except subprocess.SubprocessError as error:
        why = f"'{argv[0]}' cannot list the releases it knows: is it as new as this package?"
        raise SbinjectError(f"{why} ({error})", exit=1) from error
    last = max(
        (f"inspect_ai {json.loads(line)['to']}" for line in listed.stdout.splitlines()),
        key=release_of,
    )
    return CLIENT if release_of(CLIENT) <= release_of(last) else last


def release_of(client: str) -> tuple[int, ...]:
    """The number in 'inspect_ai 0.3.285'; of a version between two, that of the one before."""
    parts = client.rpartition(" ")[2].split("+")[0].split(".")[:3]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)
