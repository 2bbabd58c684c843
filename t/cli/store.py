#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""store.py make DIR: a small catalogue for the tests of fetch and bundle: DIR/upstream.tsv, the
artifacts in DIR/binaries and in wheels in DIR/wheels, DIR/mirror with each under its digest.

store.py serve DIR FILE [WORD...]: serve DIR over HTTP on a port of its own; FILE gets the number once
it listens, and FILE.log a line for each request. The words say what is wrong with the server:
  no-ranges   it sends all of a file, whatever range is asked for
  cut=N       it closes the connection after N bytes of a body
  once        but only the first time (with cut=)
  wrong       every body has one byte changed
  slow=N      it sends N bytes each tenth of a second
  stall       it sends half of the first body and then nothing
  huge        it announces and sends more than is wanted
  html        its pages of an index are HTML, not JSON
  tls=FILE    it speaks TLS, with the key and certificate of the file
  to=URL      it redirects all requests to URL
The index is DIR/wheels as /simple/inspect-ai/.
"""
import hashlib
import html
import http.server
import json
import os
import pathlib
import random
import ssl
import sys
import threading
import time
import zipfile

# number, from, to, form, size
RELEASES = [
    (18, "0.3.227", "0.3.239", "executable", 300_000),
    (35, "0.3.281", "0.3.285", "tar.gz", 3_000_000),
]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def noise(seed, size):
    """Half of it can be compressed."""
    made = random.Random(seed)
    return b"".join(made.randbytes(500) + b"x" * 500 for _ in range(size // 1000))


def wheel(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(20):
            made.writestr("inspect_ai/module%d.py" % number, "x = %d\n" % number * 100)
        for name, data in files:
            made.writestr("inspect_ai/binaries/" + name, data)
        made.writestr("inspect_ai-1.dist-info/RECORD", "")


def make(folder):
    top = pathlib.Path(folder)
    for name in ("binaries", "wheels", "mirror"):
        (top / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for number, first, last, form, size in RELEASES:
        files = []
        for arch in ("amd64", "arm64", "amd64-musl"):
            if arch.endswith("musl") and number < 28:
                continue
            data = noise("%d %s" % (number, arch), size)
            files.append((arch, "inspect-sandbox-tools-%s-v%d" % (arch, number), data))
            (top / "binaries" / files[-1][1]).write_bytes(data)
            (top / "mirror" / sha256(data)).write_bytes(data)
        path = top / "wheels" / ("inspect_ai-%s-py3-none-any.whl" % last)
        wheel(path, [(name, data) for arch, name, data in files if not arch.endswith("musl")])
        digest = sha256(path.read_bytes())
        for arch, name, data in files:
            musl = arch.endswith("musl")
            lines.append("\t".join([
                "upstream-v%d-%s" % (number, arch), str(number), arch.split("-")[0],
                "musl" if musl else "glibc", name, form, "-" if musl else str(len(data)),
                sha256(data), first, last, "-" if musl else path.name, "-" if musl else digest, "-"]))
    (top / "upstream.tsv").write_text("\n".join(lines) + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cuts = 0

    def log_message(self, *_):
        pass

    def page(self):
        names = sorted(os.listdir(os.path.join(self.server.top, "wheels")))
        if "html" in self.server.words:
            links = "".join('<a href="../../wheels/%s#sha256=0">%s</a><br>\n' % (html.escape(n), n) for n in names)
            return ("<!DOCTYPE html><html><body>\n" + links + "</body></html>\n").encode(), "text/html"
        files = [{"filename": n, "url": "../../wheels/" + n, "hashes": {}} for n in names]
        return json.dumps({"meta": {"api-version": "1.0"}, "name": "inspect-ai", "files": files}).encode(), \
            "application/vnd.pypi.simple.v1+json"

    def body(self):
        if self.path == "/simple/inspect-ai/":
            return self.page()
        path = os.path.join(self.server.top, self.path.lstrip("/"))
        if not os.path.isfile(path):
            return None, None
        return pathlib.Path(path).read_bytes(), "application/octet-stream"

    def span(self, size):
        """The range that is asked for, and whether there is one."""
        asked = self.headers.get("Range", "")
        tag = self.headers.get("If-Range")
        if not asked.startswith("bytes=") or "no-ranges" in self.server.words or (tag and tag != self.server.tag):
            return 0, size, False
        first, last = asked[6:].split("-")
        if not first:
            return max(0, size - int(last)), size, True
        return int(first), min(size, int(last) + 1 if last else size), True

    def do_GET(self):
        words = self.server.words
        note = "%s %s" % (self.path, self.headers.get("Range", "-"))
        with open(self.server.file + ".log", "a") as log:
            log.write(note + "\n")
        if "to" in words:
            self.send_response(302)
            self.send_header("Location", words["to"] + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data, kind = self.body()
        if data is None:
            self.send_error(404)
            return
        if "wrong" in words and kind == "application/octet-stream":
            at = len(data) // 3
            data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        if "huge" in words and kind == "application/octet-stream":
            data += b"x" * 100
        first, last, partial = self.span(len(data))
        if partial and first >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", "bytes */%d" % len(data))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if partial else 200)
        self.send_header("Content-Type", kind)
        self.send_header("ETag", self.server.tag)
        self.send_header("Content-Length", str(last - first))
        if partial:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last - 1, len(data)))
        self.end_headers()
        self.send(data[first:last], kind)

    def send(self, data, kind):
        words = self.server.words
        if kind != "application/octet-stream":
            words = {}
        if "cut" in words and len(data) > int(words["cut"]) and not ("once" in words and Handler.cuts):
            Handler.cuts += 1
            self.wfile.write(data[:int(words["cut"])])
            self.close_connection = True
            return
        if "stall" in words:
            self.wfile.write(data[:0 if Handler.cuts else len(data) // 2])
            Handler.cuts += 1
            time.sleep(600)
        step = int(words.get("slow", len(data) or 1))
        for at in range(0, len(data), step):
            self.wfile.write(data[at:at + step])
            if "slow" in words:
                time.sleep(0.1)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(folder, file, words):
    server = Server(("127.0.0.1", 0), Handler)
    server.top, server.file, server.tag = folder, file, '"one"'
    server.words = dict(word.partition("=")[::2] for word in words)
    if "tls" in server.words:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server.words["tls"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    pathlib.Path(file + ".log").touch()
    pathlib.Path(file + ".new").write_text("%d\n" % server.server_address[1])
    os.rename(file + ".new", file)
    parent = os.getppid()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while os.getppid() == parent:
        time.sleep(0.2)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        serve(sys.argv[2], sys.argv[3], sys.argv[4:])
