# SPDX-License-Identifier: MIT
"""Replies in pieces; through the command on both sides."""
import base64
import json

from world import both

LIMIT = "INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES"
METHOD = "__inspect_json_rpc_response_chunk__"


def run(w):
    w.start()
    w.prepare("mkdir -m 777 /w/c", user="root")
    for size in (10, 1000, 5000, 15000):
        w.write(f"/w/c/{size}", b"abc\n" * (size // 4))
    w.write("/w/c/wide", "é€😀\n".encode() * 800)
    # theirs takes half a second for each piece
    for size, limits in (("10", ("200", "300", "1000", "0", "x")), ("1000", ("250", "1000", "65536", " 500 ", "5_00", "+700")),
                         ("5000", ("2000", "4096", "65536", "", "-5", "1e3", "1e4")), ("15000", ("10000", "99999999999999999999")), ("wide", ("8000",))):
        for limit in limits:
            whole(w, f"{size} at {limit!r}", {"command": "view", "path": f"/w/c/{size}"}, limit)
    for number in (1, "x", "é", 10**30, 1.5, None):
        whole(w, f"id {number!r}", {"command": "view", "path": "/w/c/5000"}, "4000", number)
    for limit in ("1", "20", "150", "170", "180", "190", "195"):
        w.call(f"limit {limit}", "text_editor", {"command": "view", "path": "/w/c/5000"}, env={LIMIT: limit}, view=first)
    for user in ("user", {"uid": 1001, "gid": 1001, "groups": [1001], "home": None}):
        whole(w, f"as {user}", {"command": "view", "path": "/w/c/5000", "_run_as": user}, "4000")
    whole(w, "a served reply", {"command": "head -c 4000 /dev/zero | tr '\\0' x; sleep 30"}, "1000", job=True)
    errors(w)
    w.look("what is left", "cd /var/tmp/.da7be258e003d428/.server/chunks 2>/dev/null && find . -type f | wc -l; stat -c '%a %u' .")


def first(value):
    """A first piece without its handle."""
    reply = value.get("reply")
    piece = (reply or {}).pop(METHOD, None) if isinstance(reply, dict) else None
    if piece:
        piece.pop("handle")
        piece["chunk"] = base64.b64decode(piece["chunk"]).decode("utf-8", "replace")
        value["piece"] = piece
    return value


def whole(w, name, params, limit, number=1, job=False):
    """A reply from its first to its last piece: the sizes of the pieces, and what they make."""
    env = {LIMIT: limit}

    def work(side):
        method, given = "text_editor", params
        if job:
            started = json.loads(side.exec(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "exec_remote_start", "params": params}))[1])
            method, given = "exec_remote_poll", {"pid": started["result"]["pid"], "ack_seq": 0}
            side.run(["/bin/sh", "-c", "sleep 0.5"])
        status, out, _ = side.exec(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": given}), env=env)
        text, sizes = b"", []
        while status == 0 and out.strip():
            reply = json.loads(out)
            if METHOD not in reply:
                text = text or out.strip()
                break
            piece = reply[METHOD]
            data = base64.b64decode(piece["chunk"])
            text += data
            sizes.append([piece["version"], piece["offset"], piece["next_offset"], piece["total_size"], piece["done"], len(data), len(out), reply["id"]])
            ask = {"handle": piece["handle"], "offset": piece["next_offset"]}
            if piece["done"]:
                ask = {"handle": piece["handle"], "release": True}
            status, out, _ = side.exec(json.dumps({"jsonrpc": "2.0", "id": number, "method": METHOD, "params": ask}), env=env)
            if piece["done"]:
                sizes.append(json.loads(out))
                break
        return {"status": status, "sizes": sizes, "text": json.loads(text) if text else ""}

    w.compare(name, both(w.sides, work))


def errors(w):
    def chunk(name, params, **more):
        w.raw(name, json.dumps({"jsonrpc": "2.0", "id": 1, "method": METHOD, **({} if params == "none" else {"params": params}), **more}))

    good = "0123456789abcdef" * 2
    for params in ("none", None, [], {}, [1]):
        chunk(f"params {params!r}", params)
    for handle in (None, 1, "", good[:-1], good + "0", good.upper(), "../" + good, good[:-1] + "g", [good], good + "\n", "é" * 32):
        chunk(f"handle {handle!r}", {"handle": handle, "offset": 0})
        chunk(f"release of {handle!r}", {"handle": handle, "release": True})
    for offset in (None, 0, 5, -1, 1.0, "0", True, [], 2**63, 10**30):
        chunk(f"offset {offset!r}", {"handle": good, "offset": offset})
    for release in (True, False, None, 1, "true"):
        chunk(f"release {release!r}", {"handle": good, "release": release})
        chunk(f"release {release!r} and offset", {"handle": good, "release": release, "offset": 0})
    chunk("another member", {"handle": good, "offset": 0, "another": 1})
    for number in (None, "x", 1.5, True, [], 10**30):
        w.raw(f"id {number!r} of nothing", json.dumps({"jsonrpc": "2.0", "id": number, "method": METHOD, "params": {"handle": good, "offset": 0}}))
    w.raw("no id", json.dumps({"jsonrpc": "2.0", "method": METHOD, "params": {"handle": good, "offset": 0}}))
    w.raw("another member outside", json.dumps({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {"handle": good, "offset": 0}, "more": 1}))
