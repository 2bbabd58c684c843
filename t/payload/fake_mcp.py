#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A scripted MCP server: each request says, by its method, how it is to be answered."""
import json
import os
import signal
import subprocess
import sys
import time

out = sys.stdout.buffer
held = []


def say(text):
    out.write(text if isinstance(text, bytes) else text.encode())
    out.write(b"\n")
    out.flush()


def reply(request, result):
    say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))


def handle(line, request):
    method, params, rid = request["method"], request.get("params") or {}, request.get("id")
    as_json = json.dumps(rid)
    if method == "echo":  # the line as it came in
        reply(request, {"line": line})
    elif method == "env":
        reply(request, {"env": dict(os.environ), "cwd": os.getcwd(), "args": sys.argv[1:],
                        "pid": os.getpid(), "pgid": os.getpgid(0)})
    elif method == "raw":  # any text, ID in place of the id
        for text in params["lines"]:
            say(text.replace("ID", as_json))
    elif method == "bytes":
        say(bytes.fromhex(params["hex"]))
    elif method == "big":
        say(b'{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}' % (as_json.encode(), b"x" * params["size"]))
    elif method == "hold":
        held.append(request)
    elif method == "release":  # everything held, last first, then this one
        while held:
            reply(held[-1], {"held": held.pop()["id"]})
        reply(request, {})
    elif method == "fail":
        say('{"jsonrpc":"2.0","id":%s,"error":{"code":-5,"message":"bad"}}' % as_json)
    elif method == "exit":
        sys.exit(3)
    elif method == "close":
        os.close(1)
        time.sleep(1000)
    elif method == "deaf":  # reads nothing for a while
        time.sleep(params["seconds"])
        reply(request, {})
    elif method == "spawn":  # a child in our group, and one in a session of its own
        a = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        b = subprocess.Popen(["sleep", "1001"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             start_new_session=True)
        reply(request, {"pids": [a.pid, b.pid]})
    elif method == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        reply(request, {})
    elif method == "complain":
        sys.stderr.write("x" * params["size"] + "\n")
        sys.stderr.flush()
        reply(request, {})


def main():
    for line in sys.stdin:
        handle(line.rstrip("\n"), json.loads(line))


main()
