#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends a tree of files to "unpack", for the black-box tests.

usage: tree.py digest DIR             print the tree's digest, as treesum.h defines it
       tree.py send DIR COMMAND...    question on stdin; "+ JSON" in $EXTRA: lines of one's own at
                                      the stream's end; $CUT: stop after so many bytes; $WAIT: a
                                      command to be run before the end line
"""

import hashlib
import json
import os
import subprocess
import sys


def members(top):
    """(path, kind, mode, content) of what is in a directory, parents first."""
    for base, dirs, files in os.walk(top):
        dirs.sort()
        for name in sorted(dirs + files):
            path = os.path.join(base, name)
            kind = "link" if os.path.islink(path) else "dir" if name in dirs else "file"
            content = os.readlink(path).encode() if kind == "link" else b""
            if kind == "file":
                with open(path, "rb") as file:
                    content = file.read()
            yield os.path.relpath(path, top), kind, os.lstat(path).st_mode, content


def digest(top):
    lines = []
    for path, kind, mode, content in members(top):
        if kind == "file" and mode & 0o100:
            kind = "exec"
        sha256 = "-" if kind == "dir" else hashlib.sha256(content).hexdigest()
        lines.append(f"{path}\t{kind}\t{len(content)}\t{sha256}\n".encode())
    return hashlib.sha256(b"".join(sorted(lines))).hexdigest()


def stream(top):
    for path, kind, mode, content in members(top):
        line = {kind: path}
        if kind == "link":
            line["to"] = content.decode()
        if kind == "file":
            line |= {"size": len(content), "exec": bool(mode & 0o100)}
        yield json.dumps(line).encode() + b"\n" + (content if kind == "file" else b"")
    for line in os.environ.get("EXTRA", "").splitlines():
        yield line.encode() + b"\n"
    if os.environ.get("WAIT"):
        yield None
    yield b'{"end":true}\n'


def feed(pipe, top):
    left = int(os.environ.get("CUT", sys.maxsize))
    for piece in stream(top):
        if piece is None:
            pipe.flush()
            subprocess.run(os.environ["WAIT"], shell=True, check=False)
            continue
        pipe.write(piece[:left])
        left -= len(piece[:left])
    pipe.close()


def send(top, command):
    question = sys.stdin.readline().encode()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) as child:
        child.stdin.write(question)
        child.stdin.flush()
        answer = child.stdout.readline()
        if json.loads(answer or "{}").get("send"):
            try:
                feed(child.stdin, top)
            except BrokenPipeError:
                pass
            answer = child.stdout.readline()
        sys.stdout.write(answer.decode())
    return child.returncode


if sys.argv[1] == "digest":
    print(digest(sys.argv[2]))
else:
    sys.exit(send(sys.argv[2], sys.argv[3:]))
