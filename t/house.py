#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""house.py [--check]: figures of the product's C code, for the host's program and the one in the
container. --check prints only what must not be, and fails if there is any: a cycle of includes, a
function that nobody uses, headers with too little contract.

It reads text, not C: a definition begins at column 0 and its body is between braces at column 0,
which .clang-format sees to. Complexity is one and the number of if, for, while, case, &&, || and ?.
"""
import collections
import pathlib
import re
import sys

ROOMS = {
    "host": ["engine", "recon", "conf", "payloads", "cmd"],
    "inside": ["payloads/lib", "payloads/sandbox-tools"],
}
CONTRACT = 0.40  # comment's share of the lines in headers

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')
BRANCH = re.compile(r"\b(?:if|for|while|case)\b|&&|\|\||\?")
HEAD = re.compile(r"^(?P<head>[a-zA-Z_][^;{}=]*?\b(?P<name>\w+)\((?P<params>[^;{}]*)\))\n\{\n(?P<body>.*?)^\}", re.M | re.S)


def blank(match):
    """Comments and strings as blanks, lines kept."""
    return re.sub(r"[^\n]", " ", match.group())


class File:
    def __init__(self, path):
        self.path = str(path)
        self.text = path.read_text()
        self.code = COMMENT.sub(blank, STRING.sub(blank, self.text))
        self.includes = re.findall(r'^#include "([^"]+)"', self.text, re.M)
        self.words = collections.Counter(re.findall(r"\w+", self.code))


class Function:
    def __init__(self, path, match):
        self.path, self.name = path, match["name"]
        self.static = match["head"].startswith("static")
        self.lines = match.group().count("\n") + 1
        params = re.sub(r"\([^()]*\)", "", match["params"])
        self.params = 0 if params.strip() in ("", "void") else params.count(",") + 1
        self.complexity = 1 + len(BRANCH.findall(match["body"]))


def load(rooms, deep):
    files = []
    for room in rooms:
        for path in sorted(pathlib.Path(room).rglob("*") if deep else pathlib.Path(room).glob("*")):
            if path.suffix in (".c", ".h"):
                files.append(File(path))
    return files


def functions(files):
    return [Function(f.path, m) for f in files if f.path.endswith(".c") for m in HEAD.finditer(f.code)]


def cycles(files):
    """Files that include each other, by way of whatever: a .c and its .h are one."""
    unit = lambda path: path.rsplit(".", 1)[0]
    graph = collections.defaultdict(set)
    for f in files:
        graph[unit(f.path)] |= {unit(i) for i in f.includes} - {unit(f.path)}
    reached = {}
    for start in graph:
        seen, todo = set(), list(graph[start])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += graph.get(at, ())
        reached[start] = seen
    return sorted({tuple(sorted(u for u in reached[s] if s in reached.get(u, ()))) for s in graph if s in reached[s]})


def exports(files, others):
    """Of each function that a header declares: header, files that have its name, tests that do, uses."""
    declared = {}
    for f in files:
        if f.path.endswith(".h"):
            for name in re.findall(r"^[a-zA-Z_][\w \t*]*?\b(\w+)\((?!\*)", f.code, re.M):
                declared.setdefault(name, f.path)
    for name, header in sorted(declared.items()):
        users = [f for f in files if f.path.endswith(".c") and f.words[name]]
        inline = re.search(r"^static inline .*\b%s\(" % name, next(f.code for f in files if f.path == header), re.M)
        uses = sum(f.words[name] for f in files if f.path == header or f.path.endswith(".c"))
        yield name, header, len(users), sum(1 for f in others if f.words[name]), uses - (1 if inline else 2)


def contract(files):
    comment = total = 0
    for f in files:
        if not f.path.endswith(".h"):
            continue
        text = re.sub(r"^/\* SPDX.*\n", "", f.text)
        lines = [l for l in text.split("\n") if l.strip()]
        kept = [l for l in COMMENT.sub(lambda m: re.sub(r"[^\n]", "\0", m.group()), text).split("\n") if l.strip()]
        comment += sum("\0" in l for l in kept)
        total += len(lines)
    return comment / total


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def spread(values):
    return "median %d, p90 %d, p99 %d, most %d" % (*(quantile(values, q) for q in (0.5, 0.9, 0.99)), max(values))


def main():
    check = "--check" in sys.argv[1:]
    tests = load(["t"], True)
    bad = []
    every = load(ROOMS["inside"], True) + load(ROOMS["host"], False)
    for room, folders in ROOMS.items():
        files = load(folders, room == "inside")
        found = functions(files)
        share = contract(files)
        used = [e for e in exports(every, tests) if e[1] in {f.path for f in files}]
        nobody = [e for e in used if e[4] <= 0 and not e[3]]
        testers = [e for e in used if e[4] <= 0 and e[3]]
        bad += ["includes in a circle: %s" % " ".join(c) for c in cycles(files)]
        bad += ["%s: %s is used by nobody" % (e[1], e[0]) for e in nobody]
        if share < CONTRACT:
            bad.append("%s: %.0f %% of the headers' lines are contract, not %.0f" % (room, 100 * share, 100 * CONTRACT))
        if check:
            continue
        print(room)
        sources = [f for f in files if f.path.endswith(".c")]
        print("  files        %d .c, %d .h, %d lines; the largest %d" % (
            len(sources), len(files) - len(sources), sum(f.text.count("\n") for f in files),
            max(f.text.count("\n") for f in files)))
        print("  functions    %d, %.0f %% static" % (len(found), 100 * sum(f.static for f in found) / len(found)))
        print("  lines        %s" % spread([f.lines for f in found]))
        print("  complexity   %s" % spread([f.complexity for f in found]))
        print("  parameters   %s" % spread([f.params for f in found]))
        print("  contract     %.0f %% of the lines of headers" % (100 * share))
        print("  exports      %d; used by nobody %d, by tests only %d, in their own file only %d" % (
            len(used), len(nobody), len(testers), sum(e[2] == 1 and e[4] > 0 for e in used)))
        print("  include cycles %d" % len(cycles(files)))
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
