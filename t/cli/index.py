#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""index.py PORT-FILE: Python indexes with small wheels of inspect_ai, one for each scenario below, at
http://127.0.0.1:PORT/SCENARIO. The requests are written to stderr: the path, and the range or "all"."""
import base64
import hashlib
import http.server
import io
import os
import random
import sys
import zipfile

SANDBOX, TOOLS = "inspect_ai/util/_sandbox/", "inspect_ai/tool/_sandbox_tools_utils/"
DOCKER = SANDBOX + "docker/docker.py"
PROGRAM = "inspect_ai/binaries/inspect-sandbox-tools-amd64-v"
RECORD = "inspect_ai-0.dist-info/RECORD"
ACCOUNT = "Basic " + base64.b64encode(b"me:p@ss").decode()


def wheel(number=None, start=b"\x7fELF"):
    """The files of a release; as with real ones, the program is most of it."""
    files = {"inspect_ai/__init__.py": b"", DOCKER: b"run = 1\n", SANDBOX + "_cli.py": b'DIR = "/a/b"\n'}
    if number:
        files[f"{PROGRAM}{number}"] = start + random.Random(number).randbytes(400_000)
        files[TOOLS + "sandbox_tools_version.txt"] = b"%d\n" % number
    return files


# For the table 0.3.1 (no program), 0.3.3 to 0.3.4 (2), 0.3.8 (3).
BASE = {"0.3.1": wheel(), "0.3.3": wheel(2), "0.3.4": wheel(2), "0.3.8": wheel(3, b"\x1f\x8b\x08\x00")}


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def record(files):
    rows = [f"{path},{digest(data)},{len(data)}\n" for path, data in files.items()]
    return "".join([*rows, RECORD, ",,\n"]).encode()


LAST = BASE["0.3.8"]
LATER = {**LAST, DOCKER: b"run = 2\x1b\n"}

SCENARIOS = {
    "known": {},
    "equal": {"0.3.9": LAST, "0.3.10": LAST},
    "different": {"0.3.9": LATER, "0.3.10": LATER, "0.3.11": LAST},
    "gap": {"0.3.5": BASE["0.3.4"], "0.3.7": LAST},
    "gap-different": {"0.3.6": LATER},
    "gone": {"0.3.9": {path: data for path, data in LAST.items() if path != DOCKER}},
    "whole": {"0.3.9": LAST},
    "broken": {"0.3.9": LATER},
    "garbage": {"0.3.9": LATER},
    "refused": {"0.3.9": LATER},
    "cut": {"0.3.9": LATER},
    "record": {"0.3.9": {**LATER, RECORD: record({**LAST, DOCKER: b"run = 3\n"})}},
    "lying": {"0.3.9": {**LATER, RECORD: record(LAST)}},
    "no-digest": {"0.3.9": {**LATER, RECORD: b"inspect_ai/__init__.py,,\n"}},
    "path-digest": {"0.3.9": {**LATER, RECORD: b"inspect_ai/__init__.py,sha256=%sx,0\n" % (b"../" * 14)}},
    "large": {"0.3.9": {**LAST, DOCKER: bytes(5 << 20)}},
    "no-program": {"0.3.4": wheel()},
    "a-program": {"0.3.1": wheel(1)},
    "number": {"0.3.8": wheel(4, b"\x1f\x8b\x08\x00")},
    "form": {"0.3.8": wheel(3)},
    "place": {"0.3.8": {**LAST, SANDBOX + "_cli.py": b'DIR = "/a/bc"\n'}},
    "another": {"0.3.4": {**BASE["0.3.4"], PROGRAM + "2": b"\x7fELF"}},
    "fewer": {"0.3.8": None},
    "none": {release: None for release in BASE},
    "odd": {"0.3.9rc1": LATER, "0.3.9.post1": LATER, "1": LATER},
    "account": {},
    "shifted": {},
}


def pack(files):
    files = {RECORD: record(files), **files}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for path in [p for p in files if p != RECORD] + [RECORD]:
            made.writestr(zipfile.ZipInfo(path), files[path], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def name(release):
    return f"inspect_ai-{release}-py3-none-any.whl"


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        print(self.path, self.headers.get("Range", "all"), file=sys.stderr, flush=True)
        scenario, _, rest = self.path[1:].partition("/")
        releases = {**BASE, **SCENARIOS.get(scenario, {})}
        releases = {r: files for r, files in releases.items() if files is not None}
        account = ACCOUNT if scenario == "account" else None
        if scenario not in SCENARIOS or self.headers.get("Authorization") != account:
            self.reply(403, b"")
        elif rest == "inspect-ai/":
            links = [f'<a href="../{name(r)}#sha256={hashlib.sha256(pack(files)).hexdigest()}">'
                     for r, files in releases.items()]
            self.reply(200, "".join(links + ['<a href="inspect_ai-0.3.12.tar.gz">']).encode())
        else:
            self.wheel(scenario, {name(r): files for r, files in releases.items()}.get(rest))

    def wheel(self, scenario, files):
        later = name("0.3.9") in self.path
        if files is None or (scenario == "refused" and later):
            return self.reply(404, b"")
        data = pack(files)
        if scenario == "broken" and later:
            data = data[:-100]
        if scenario == "garbage" and later:
            at = data.index(DOCKER.encode()) + len(DOCKER)
            data = data[:at] + b"\xff\xff\xff" + data[at + 3:]
        if scenario == "cut" and later:
            return self.reply(200, data[:1000], {"Content-Length": len(data)})
        if "Range" not in self.headers or scenario == "whole":
            return self.reply(200, data)
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        last = min(last, len(data) - 1)
        if scenario == "shifted":
            first, last = first - 1, last - 1
        self.reply(206, data[first:last + 1], {"Content-Range": f"bytes {first}-{last}/{len(data)}"})

    def reply(self, status, data, headers={}):
        self.send_response(status)
        for key, value in {"Content-Length": len(data), **headers}.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
# Whoever waits for the file finds a server that listens.
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
