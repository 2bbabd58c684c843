# SPDX-License-Identifier: MIT
"""Is payloads/hosts.tsv right about each release of inspect_ai on an index, and does it know them
all? TAP; called by hosts.sh, whose head says what is reported. INDEX_URL is the index.

A release that the table does not have expects what the release before it expects if the files below
are the same in both wheels. If they are not, somebody has to read what differs, and give the release
a range: whose the service must be, and what is needed in the container, is not found out here. Of
the 129 steps from 0.3.133 to 0.3.285, 62 changed none of these files, 30 needed a new range, and
each of these 30 changed some.
"""

import argparse
import base64
import difflib
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from releases import Index, NoIndex, Release, Trouble, Wheel, release_of, text_of

CLIENT = "inspect_ai"

# The contract: the files on the host's side that decide what is expected of a container. A file that
# one of them begins to use, or that begins to call the program, belongs here, too. Not here: what is
# for inspect-tool-support (the web browser), which is another program.
CONTRACT = {
    # where the program is, and as whom
    "util/_sandbox/_cli.py": "the path of the program; whom it is to act for",
    "util/_sandbox/_framework_directory.py": "whose the directory must be, and what looks at it",
    "util/_sandbox/_privileged.py": "the shell and the PATH of commands of its own",
    "util/_sandbox/context.py": "which container has the program, or gets it",
    "util/_sandbox/environment.py": "what it remembers of a container; how exec_remote begins",
    "util/_sandbox/docker/docker.py": "how a command is run in the container: user, timeout",
    "util/_sandbox/docker/compose.py": "what docker is asked; inspect-sbinject asks in its place",
    # the program that it brings
    "tool/_sandbox_tools_utils/sandbox.py": "when it is put there, how, as whom; how it is started",
    "tool/_sandbox_tools_utils/sandbox_tools_version.txt": "its number",
    "tool/_sandbox_tools_utils/_build_config.py": "its name",
    "util/_sandbox/recon.py": "for which architecture and libc it is chosen",
    # how the program is called
    "_util/_json_rpc.py": "requests and replies; what the codes of errors mean",
    "util/_sandbox/_json_rpc_transport.py": "how they get to the program and back, in chunks",
    "util/_sandbox/limits.py": "how long a reply may be",
    "tool/_sandbox_tools_utils/_error_mapper.py": "which errors the model is told",
    # what is asked of it
    "util/_sandbox/exec_remote.py": "exec_remote: start, poll, write, close, kill",
    "tool/_tools/_bash_session.py": "bash_session",
    "tool/_tools/_text_editor.py": "text_editor",
    "tool/_mcp/_sandbox.py": "mcp: launch a server, send to it, kill it",
    # model_proxy, and what it asks of the host by files
    "agent/_bridge/sandbox/bridge.py": "how the proxy is started: arguments, environment",
    "agent/_bridge/sandbox/service.py": "what the proxy may ask, and what it is answered",
    "tool/_mcp/_tools_bridge/bridge.py": "the tools of the host that the proxy offers",
    "util/_sandbox/service.py": "where the questions and the answers are put",
}

PROGRAM = "inspect-sandbox-tools"
SUPPORTED = (0, 3, 213)  # by inspect-sbinject, and later ones
SAYS_WHERE = ("util/_sandbox/_cli.py", "tool/_sandbox_tools_utils/sandbox.py")
FORMS = {b"\x7fELF": "executable", b"\x1f\x8b": "tar.gz"}
UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
AT_ONCE = 6

Wheels = dict[Release, Wheel | Trouble]


# --- the table ----------------------------------------------------------------


class Row:
    """A range of releases."""

    def __init__(self, line: int, cells: list[str]):
        self.line, self.cells = line, cells
        ends = [release for cell in cells[1:3] if (release := release_of(cell))]
        if len(cells) != 9 or len(ends) != 2:
            raise Trouble(f"line {line + 1} of the table cannot be read")
        self.first, self.last = ends
        self.path, self.form, self.number = cells[3], cells[5], cells[6]

    def holds(self, release: Release) -> bool:
        return self.first <= release <= self.last

    def extend(self, release: Release) -> None:
        self.first, self.last = min(self.first, release), max(self.last, release)
        self.cells[1:3] = text_of(self.first), text_of(self.last)


class Table:
    """hosts.tsv."""

    def __init__(self, path: Path):
        self.path = path
        self.lines = path.read_text().splitlines()
        self.rows = [Row(n, line.split("\t")) for n, line in enumerate(self.lines)
                     if line.startswith(f"{CLIENT}\t")]
        if not self.rows:
            raise Trouble(f"'{path}' has no line of {CLIENT}")

    def find(self, release: Release) -> list[Row]:
        return [row for row in self.rows if row.holds(release)]

    def write(self) -> None:
        for row in self.rows:
            self.lines[row.line] = "\t".join(row.cells)
        self.path.write_text("".join(line + "\n" for line in self.lines))


# --- what is found ------------------------------------------------------------


class Points:
    """Test points in TAP."""

    def __init__(self) -> None:
        self.count = self.failures = 0

    def point(self, good: bool, name: str, why: Iterable[str] = ()) -> None:
        self.count += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        for line in why:
            print("#   " + UNPRINTABLE.sub("?", line))

    def none(self, name: str, wrong: list[str]) -> None:
        self.point(not wrong, name, wrong)

    def skip(self, name: str, why: str) -> None:
        self.point(True, f"{name} # SKIP {why}")


def ends_off(table: Table, releases: list[Release]) -> list[str]:
    return [f"{text_of(end)} ends a range, and is not on the index"
            for row in table.rows for end in sorted({row.first, row.last}) if end not in releases]


def twice(table: Table, releases: list[Release]) -> list[str]:
    return [f"{text_of(release)} is in {len(table.find(release))} ranges"
            for release in releases if len(table.find(release)) > 1]


def artifacts(wheel: Wheel) -> dict[str, str]:
    """The numbers of the programs that a wheel brings, by path."""
    name = re.compile(rf"{CLIENT}/binaries/{PROGRAM}-[\w-]+-v(.+)")
    return {path: match[1] for path in wheel.files if (match := name.fullmatch(path))}


def form(wheel: Wheel, path: str) -> str:
    start = wheel.start(path)
    return next((name for magic, name in FORMS.items() if start.startswith(magic)), "unknown")


def says_path(wheel: Wheel, path: str) -> bool:
    """Whether the files in which it would say where the program is have that directory in them."""
    directory = re.escape(os.path.dirname(path).encode())
    return any(re.search(rb'"' + directory + rb'["/]', wheel.content(f"{CLIENT}/{file}"))
               for file in SAYS_WHERE)


def misread(row: Row, wheel: Wheel | Trouble) -> Iterator[str]:
    """What the table says about a release that its wheel does not."""
    try:
        if isinstance(wheel, Trouble):
            raise wheel
        found = artifacts(wheel)
        numbers = sorted(set(found.values())) or ["-"]
        if numbers != [row.number]:
            yield f"it brings number {' and '.join(numbers)}, and the table says {row.number}"
        for path in found:
            if form(wheel, path) != row.form:
                yield f"{path} is of the form {form(wheel, path)}, and the table says {row.form}"
        if row.path != "-" and not says_path(wheel, row.path):
            yield f"it does not look for the program in {os.path.dirname(row.path)}, as the table says"
    except Trouble as e:
        yield str(e)


def changed(wheels: Wheels) -> list[str]:
    """Programs of one name that are not one program."""
    digests: dict[str, dict[tuple[str, int], list[str]]] = {}
    for release, wheel in wheels.items():
        for path in artifacts(wheel) if isinstance(wheel, Wheel) else ():
            digests.setdefault(path, {}).setdefault(wheel.files[path], []).append(text_of(release))
    return [f"{path} is one program in {', '.join(a)}, and another in {', '.join(b)}"
            for path, found in digests.items() for a, b in itertools.pairwise(found.values())]


# --- releases that the table does not have ------------------------------------


def differences(old: Wheel, new: Wheel) -> list[str]:
    """Of the contract: a diff. Files that RECORD and the zip's directory have alike are not fetched."""
    diff: list[str] = []
    for path in (f"{CLIENT}/{file}" for file in CONTRACT):
        if old.files.get(path) != new.files.get(path):
            texts = [wheel.content(path).decode(errors="replace") for wheel in (old, new)]
            names = [text_of(wheel.release) for wheel in (old, new)]
            diff.append(f"{path} differs:")
            diff += difflib.unified_diff(*map(str.splitlines, texts), *names, lineterm="")
    return diff


def compare(wheels: Wheels, old: Release, new: Release) -> list[str]:
    """Why they may not expect the same; empty: they do."""
    pair: list[Wheel] = []
    for release in (old, new):
        wheel = wheels[release]
        if isinstance(wheel, Trouble):
            return [f"{text_of(release)}: {wheel}"]
        pair.append(wheel)
    try:
        return differences(*pair)
    except Trouble as e:
        return [str(e)]


def adopt(table: Table, wheels: Wheels, release: Release) -> tuple[str, list[str]]:
    """Put a release into the range of the one before it, or else of the one after, if it expects the
    same; which one that is, or why it is in none."""
    known = sorted(wheels)
    at = known.index(release)
    why: list[str] = []
    for other in known[max(0, at - 1):at] + known[at + 1:at + 2]:
        diff = compare(wheels, other, release)
        rows = table.find(other)
        if rows and not diff:
            rows[0].extend(release)
            return text_of(other), []
        if not why:
            why = diff or [f"it expects what {text_of(other)} does, which is in no range"]
    return "", why or ["there is no other release to compare it with"]


def newcomers(points: Points, table: Table, wheels: Wheels, write: bool) -> None:
    strangers = [release for release in sorted(wheels) if not table.find(release)]
    if not strangers:
        points.point(True, f"the table has all releases; the newest is {text_of(max(wheels))}")
    for release in strangers:
        name = f"{CLIENT} {text_of(release)} is in the table"
        like, why = adopt(table, wheels, release)
        if why:
            points.point(False, name, why)
        elif write:
            points.point(True, f"{name} now: it expects what {like} does")
        else:
            points.skip(name, f"it expects what {like} does; t/interop/hosts.sh --write adds it")
    if strangers and write:
        table.write()


# --- what inspect-sbinject knows --------------------------------------------------


def digests(wheels: Wheels) -> Iterator[tuple[str, str]]:
    """Each file of the contract with each of its digests, in hexadecimal; "-": there is none."""
    for file in CONTRACT:
        for wheel in wheels.values():
            if isinstance(wheel, Wheel):
                digest = wheel.files.get(f"{CLIENT}/{file}", ("", 0))[0]
                yield file, base64.urlsafe_b64decode(digest + "=").hex() if digest else "-"


def known_text(table: Table, wheels: Wheels) -> str:
    """contract.tsv, of the releases in the table since SUPPORTED."""
    ours = {release: wheels[release] for release in sorted(wheels)
            if release >= SUPPORTED and table.find(release)}
    head = ("# SPDX-License-Identifier: MIT; written by t/interop/hosts.sh --write\n"
            f"# SHA-256 and path of files of inspect_ai {text_of(min(ours))} to {text_of(max(ours))}\n")
    return head + "".join(f"{digest}\t{file}\n" for file, digest in sorted(set(digests(ours))))


def contract(points: Points, table: Table, wheels: Wheels, path: Path, write: bool) -> None:
    text = known_text(table, wheels)
    if write:
        path.write_text(text)
    same = path.exists() and path.read_text() == text
    points.point(same, "inspect-sbinject knows the files of these releases",
                 [] if same else ["t/interop/hosts.sh --write brings it up to date"])


# --- all of it ----------------------------------------------------------------


def read(index: Index, releases: list[Release]) -> Wheels:
    def one(release: Release) -> Wheel | Trouble:
        try:
            return index.wheel(release)
        except Trouble as e:
            return e

    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        return dict(zip(releases, pool.map(one, releases)))
    finally:
        pool.shutdown(cancel_futures=True)


def check(points: Points, arguments: argparse.Namespace) -> None:
    table = Table(arguments.table)
    index = Index(os.environ["INDEX_URL"], CLIENT, arguments.cache)
    releases = [release for release in index.releases() if release >= table.rows[0].first]
    if not releases:
        raise Trouble(f"the index has no release of {CLIENT} since {text_of(table.rows[0].first)}")
    wheels = read(index, releases)
    span = f"{text_of(table.rows[0].first)} to {text_of(table.rows[-1].last)}"
    known = [release for release in releases if table.find(release)]
    points.none("each range begins and ends with a release on the index", ends_off(table, releases))
    points.none(f"{len(known)} releases of {span} are each in one range", twice(table, releases))
    points.none("the number, the form and the path in the table are those in the wheels",
                [f"{text_of(release)}: {wrong}" for release in known
                 for wrong in misread(table.find(release)[0], wheels[release])])
    points.none("a number is the same program in each release", changed(wheels))
    newcomers(points, table, wheels, arguments.write)
    if arguments.contract:
        contract(points, table, wheels, arguments.contract, arguments.write)


def main() -> int:
    parser = argparse.ArgumentParser(prog="hosts.sh")
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--contract", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    points = Points()
    name = f"the index tells of the releases of {CLIENT}"
    try:
        check(points, arguments)
    except NoIndex as e:
        if os.environ.get("CI"):
            points.point(False, name, [str(e)])
        else:
            points.skip(name, f"no index: {e}")
    except Trouble as e:
        points.point(False, name, [str(e)])
    print(f"1..{points.count}")
    return 1 if points.failures else 0


if __name__ == "__main__":
    sys.exit(main())
