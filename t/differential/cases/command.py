# SPDX-License-Identifier: MIT
"""The command line."""
VERSION = '{"jsonrpc":"2.0","method":"version","id":1}'


def run(w):
    for args in ([], ["nosuch"], [""], ["-h"], ["--help"], ["exec", "-h"], ["exec", "--help"], ["start-server", "-h"], ["stop-server", "--help"], ["server", "-h"], ["healthcheck", "-h"],
                 ["--nosuch"], ["exec", "--nosuch"], ["exec", VERSION, "more"], ["start-server", "more"], ["stop-server", "more"], ["healthcheck", "more"], ["server", "more"], ["-x"],
                 ["EXEC"], ["exe"], ["exec", "exec"], ["--version"], ["version"]):
        w.command(f"arguments {args!r:.50}", args, view=kind)
    for data in (b"", VERSION.encode(), b"junk"):
        for args in (["exec"], ["exec", ""], ["exec", VERSION], ["exec", "junk"], ["exec", " " + VERSION + " "], ["exec", "{}"]):
            w.command(f"{args!r:.40} with {data!r:.20}", args, data)
    w.command("healthcheck", ["healthcheck"], view=masked)
    w.command("healthcheck again", ["healthcheck"], view=masked)
    w.command("start-server", ["start-server"], view=masked)
    w.command("start-server again", ["start-server"], view=masked)
    w.command("stop-server", ["stop-server"])
    w.command("stop-server again", ["stop-server"])
    w.command("start-server with stdin", ["start-server"], VERSION.encode(), view=masked)
    w.command("notification", ["exec", '{"jsonrpc":"2.0","method":"version"}'])
    w.command("served notification", ["exec", '{"jsonrpc":"2.0","method":"remote_version"}'])
    w.command("another user's call", ["exec", VERSION], user="other", view=lambda v: v["status"])


def kind(value):
    return {"status": value["status"], "stdout": bool(value["stdout"]), "stderr": value["stderr"]}


def masked(value):
    import re
    value["stdout"] = re.sub(r"\(\d+\)", "(PID)", value["stdout"])
    return value
