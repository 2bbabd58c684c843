#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fault proxy between sbinject and an engine: relays HTTP/1.1 from one Unix
socket to another and does to chosen requests what a broken engine, network or
disk would do.  Ends with its parent.

usage: proxy.py --listen SOCKET --to SOCKET [--log FILE] [--fault SPEC]...

SPEC is ACTION[:PLACE][@[METHOD ]PATH-REGEX[#N[+]]][:ARGUMENT].  Without "@" it
fits every request, without "#" every match; "#2" is the second match only,
"#2+" the second and later.  The first SPEC that fits a request is applied.

  refuse                    close at accept; "refuse#2" the second connection
  drop                      read the request's head, then close
  empty                     read the whole request, then close unanswered
  delay:SECONDS             wait, then relay normally
  cut:req-body:N            close both sides after N bytes of request body
  cut:resp:N                close after N bytes of response, head included
  cut:resp-body:N           ... after N bytes of its body or upgraded stream
  cut:after                 ... after the whole of it
  stall:req-body:N,SECONDS  stop relaying for that long after N bytes
  stall:resp:N,SECONDS      stall:resp-body:N,SECONDS
  reply:STATUS[,TYPE[,BODY]]        answer at once, without the body being read
  reply:late:STATUS[,TYPE[,BODY]]   answer after reading it; the engine sees none
  raw:FILE                  send FILE's bytes as the response, then close
  garbage                   send bytes that are no HTTP
  length:+N  length:-N      Content-Length that much too long or too short
  header:NAME=VALUE         a header of the response says this instead
  chunked:short  chunked:bad        chunked body that ends early / is malformed
  bighead:N                 a response header N bytes long
  frame:oversize            exec stream: first frame claims 4 GiB - 1
  frame:stream              exec stream: first frame of unknown stream 9
  frame:stderr              exec stream: first frame of the wrong stream
  frame:swap                exec stream: first frame in two, the second first
  frame:digest              exec stream: the first frame tells another SHA-256
  frame:empty               exec stream: empty frames before the first
  frame:split               exec stream: byte by byte
  run:COMMAND               run a shell command before relaying the request
  run:after:COMMAND         ... after its response was relayed

Byte counts of chunked bodies include the chunk framing.  The log has one line
per request, "CONNECTION METHOD TARGET", and "! SPEC" for every fault applied.
"""
import argparse
import ctypes
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

PLACES = {"req-body", "resp", "resp-body", "late", "after", "short", "bad",
          "oversize", "stream", "stderr", "swap", "digest", "empty", "split"}
REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found",
           409: "Conflict", 500: "Internal Server Error",
           503: "Service Unavailable"}


class Closed(Exception):
    """The connection ends here, by fault or because a side closed it."""


class Fault:
    def __init__(self, spec):
        self.spec = spec
        self.seen = 0
        self.method = self.regex = None
        self.nth, self.onward = 0, False
        what, at, where = spec.partition("@")
        if at:
            head, self.arg = self._split_where(where)
            self._selector(head)
            action = what.split(":")
        else:
            action = self._without_selector(what)
        self.action = action[0]
        self.place = action[1] if len(action) > 1 else ""

    @staticmethod
    def _split_where(where):
        """REGEX[#N][:ARGUMENT]; the argument follows the first ':' whose left
        side is not inside brackets."""
        depth = 0
        for i, c in enumerate(where):
            depth += (c in "([") - (c in ")]")
            if c == ":" and depth == 0:
                return where[:i], where[i + 1:]
        return where, ""

    def _without_selector(self, what):
        parts = what.split(":", 1)
        name, rest = parts[0], parts[1] if len(parts) > 1 else ""
        self._selector(name[len(name.split("#")[0]):])
        name = name.split("#")[0]
        place, _, tail = rest.partition(":")
        if place in PLACES:
            self.arg = tail
            return [name, place]
        self.arg = rest
        return [name]

    def _selector(self, text):
        text, _, nth = text.partition("#")
        if nth:
            self.onward = nth.endswith("+")
            self.nth = int(nth.rstrip("+"))
        m = re.match(r"([A-Z]+) (.*)", text)
        if m:
            self.method, text = m.groups()
        self.regex = re.compile(text) if text else None

    def fits(self, method="", target=""):
        """Counts the match; true when this one is meant."""
        if self.method and self.method != method:
            return False
        if self.regex and not self.regex.search(target):
            return False
        self.seen += 1
        if not self.nth:
            return True
        return self.seen == self.nth or (self.onward and self.seen > self.nth)

    def numbers(self):
        return [float(x) for x in self.arg.split(",")]


class Stream:
    """A socket with a read buffer, to find the ends of heads and chunks."""

    def __init__(self, sock):
        self.sock = sock
        self.buf = b""

    def fill(self):
        try:
            data = self.sock.recv(65536)
        except OSError as e:
            raise Closed from e
        self.buf += data
        return len(data)

    def until(self, mark):
        while mark not in self.buf:
            if len(self.buf) > 1 << 20 or not self.fill():
                raise Closed
        end = self.buf.index(mark) + len(mark)
        data, self.buf = self.buf[:end], self.buf[end:]
        return data

    def some(self, limit=65536):
        """Up to limit bytes; b"" at the end of the stream."""
        if not self.buf:
            self.fill()
        data, self.buf = self.buf[:limit], self.buf[limit:]
        return data

    def exactly(self, n):
        while n > 0:
            data = self.some(min(n, 65536))
            if not data:
                raise Closed
            n -= len(data)
            yield data

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError as e:
            raise Closed from e

    def half_close(self):
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


class Head:
    """First line and headers of a message, as received."""

    def __init__(self, raw):
        self.raw = raw
        lines = raw.decode("latin-1").split("\r\n")
        self.first = lines[0].split(" ", 2)
        self.fields = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                self.fields[name.strip().lower()] = value.strip()

    def chunked(self):
        return "chunked" in self.fields.get("transfer-encoding", "").lower()

    def replace(self, name, value):
        self.raw = re.sub(rb"(?mi)^%s:.*" % name.encode(),
                          b"%s: %s\r" % (name.encode(), value.encode()), self.raw)

    def length(self):
        return int(self.fields["content-length"]) \
            if "content-length" in self.fields else None


def chunks(stream):
    """A chunked body as on the wire."""
    while True:
        line = stream.until(b"\r\n")
        yield line
        size = int(line.split(b";")[0], 16)
        if size == 0:
            while line != b"\r\n":      # trailers
                line = stream.until(b"\r\n")
                yield line
            return
        yield from stream.exactly(size + 2)


def dechunk(pieces):
    wire, body = b"".join(pieces), b""
    while wire:
        line, _, wire = wire.partition(b"\r\n")
        size = int(line.split(b";")[0], 16)
        if size == 0:
            break
        body, wire = body + wire[:size], wire[size + 2:]
    return body


def to_end(stream):
    while data := stream.some():
        yield data


def cut(pieces, limit):
    for data in pieces:
        if len(data) >= limit:
            yield data[:limit]
            raise Closed
        limit -= len(data)
        yield data


def stall(pieces, limit, seconds):
    for data in pieces:
        if limit is not None and len(data) >= limit:
            yield data[:limit]
            time.sleep(seconds)
            data, limit = data[limit:], None
        elif limit is not None:
            limit -= len(data)
        if data:
            yield data


def frame(stream, text):
    return struct.pack(">BxxxI", stream, len(text)) + text


FRAME_FAULTS = {
    "oversize": lambda text: frame(1, b"")[:4] + b"\xff\xff\xff\xff" + text,
    "stream": lambda text: frame(9, text),
    "stderr": lambda text: frame(2, text),
    "swap": lambda text: (frame(1, text[len(text) // 2:]) +
                          frame(1, text[:len(text) // 2])),
    "digest": lambda text: frame(1, re.sub(
        rb'("sha256": *)"[0-9a-f]{8}', rb'\1"deadbeef', text)),
    "empty": lambda text: frame(1, b"") + frame(2, b"") + frame(1, text),
}


def bytewise(pieces):
    for data in pieces:
        for i in range(len(data)):
            yield data[i:i + 1]
            time.sleep(0.0005)


def frames(pieces, mode):
    """Damage the first frame of a multiplexed exec stream."""
    if mode == "split":
        yield from bytewise(pieces)
        return
    data, size = b"", 8
    while len(data) < size and (piece := next(pieces, b"")):
        data += piece
        if len(data) >= 8:
            size = 8 + struct.unpack(">xxxxI", data[:8])[0]
    if len(data) >= size:
        yield FRAME_FAULTS[mode](data[8:size]) + data[size:]
    yield from pieces


def damaged(pieces, fault, *places):
    """The bytes after the fault, if it acts at one of these places."""
    if fault is None or (fault.action != "frame" and fault.place not in places):
        return pieces
    if fault.action == "frame" and "resp-body" in places:
        return frames(pieces, fault.place)
    if fault.action == "cut":
        return cut(pieces, int(fault.arg))
    if fault.action == "stall":
        limit, seconds = fault.numbers()
        return stall(pieces, int(limit), seconds)
    return pieces


def canned(arg):
    """STATUS[,TYPE[,BODY]] as a response that closes the connection."""
    status, kind, body = (arg.split(",", 2) + ["", ""])[:3]
    status = int(status)
    if kind in ("", "json"):
        kind = "application/json"
        body = body or '{"message":"injected fault %d"}' % status
    elif kind == "html":
        kind = "text/html"
        body = body or "<html><body><h1>%d injected fault</h1></body></html>" % status
    data = body.encode()
    head = ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
            "Connection: close\r\n\r\n"
            % (status, REASONS.get(status, "Status"), kind, len(data)))
    return head.encode() + data


def without_engine(fault):
    """Whole responses made up here."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    if fault.action == "reply":
        return canned(fault.arg)
    if fault.action == "raw":
        with open(fault.arg, "rb") as f:
            return f.read()
    if fault.action == "garbage":
        return bytes(range(256)) * 8
    if fault.action == "chunked":
        start += b"Transfer-Encoding: chunked\r\n\r\n"
        return start + (b'40\r\n{"Id":' if fault.place == "short"
                        else b'zz\r\n{"Id":"x"}\r\n0\r\n\r\n')
    if fault.action == "bighead":
        return start + b"X-Fill: " + b"f" * int(fault.arg) + \
            b"\r\nContent-Length: 2\r\n\r\n{}"
    return None


class Proxy:
    def __init__(self, args):
        self.to = args.to
        self.faults = [Fault(s) for s in args.fault]
        self.log_file = open(args.log, "a", buffering=1) if args.log else None
        self.lock = threading.Lock()

    def log(self, line):
        if self.log_file:
            self.log_file.write(line + "\n")

    def pick(self, number, method, target):
        with self.lock:
            self.log("c%d %s %s" % (number, method, target))
            for fault in self.faults:
                if fault.action != "refuse" and fault.fits(method, target):
                    self.log("! " + fault.spec)
                    return fault
        return None

    def refused(self):
        with self.lock:
            for fault in self.faults:
                if fault.action == "refuse" and fault.fits():
                    self.log("! " + fault.spec)
                    return True
        return False

    def serve(self, number, sock):
        client, engine = Stream(sock), None
        try:
            if self.refused():
                raise Closed
            up = socket.socket(socket.AF_UNIX)
            engine = Stream(up)
            up.connect(self.to)
            while self.exchange(number, client, engine):
                pass
        except (Closed, OSError, ValueError):
            pass
        finally:
            client.close()
            if engine:
                engine.close()

    def exchange(self, number, client, engine):
        """One request and its response; false when the connection is done."""
        head = Head(client.until(b"\r\n\r\n"))
        method, target = head.first[:2]
        fault = self.pick(number, method, target)
        if head.chunked():
            body = chunks(client)
        else:
            body = client.exactly(head.length() or 0)
        if fault:
            self.before(fault, body, client)
        engine.send(head.raw)
        upload = threading.Thread(target=self.upload, daemon=True, args=(
            damaged(body, fault, "req-body"), client, engine))
        upload.start()
        more = self.response(method, fault, client, engine)
        upload.join()
        if fault and fault.place == "after":
            if fault.action == "cut":
                raise Closed
            subprocess.call(fault.arg, shell=True, stdin=subprocess.DEVNULL)
        return more

    @staticmethod
    def before(fault, body, client):
        """What a fault does before anything reaches the engine."""
        if fault.action == "delay":
            time.sleep(float(fault.arg))
        if fault.action == "run" and fault.place != "after":
            subprocess.call(fault.arg, shell=True, stdin=subprocess.DEVNULL)
        if fault.action == "drop":
            raise Closed
        if fault.action == "empty" or fault.place == "late":
            for _ in body:
                pass
        if fault.action == "empty":
            raise Closed
        answer = without_engine(fault)
        if answer is not None:
            client.send(answer)
            client.half_close()
            client.sock.settimeout(2)   # let the client see it: drain, then close
            for _ in to_end(client):
                pass
            raise Closed

    @staticmethod
    def upload(body, client, engine):
        try:
            for data in body:
                engine.send(data)
        except (Closed, ValueError):
            engine.close()
            client.close()

    def response(self, method, fault, client, engine):
        while True:
            head = Head(engine.until(b"\r\n\r\n"))
            status = int(head.first[1])
            if status == 101 or status >= 200:
                break
            client.send(head.raw)
        if status == 101 or (method == "POST" and head.length() is None and
                             not head.chunked() and status == 200):
            return self.upgraded(head, fault, client, engine)
        none = method == "HEAD" or status in (204, 304)
        to_eof = not none and head.length() is None and not head.chunked()
        if none:
            body = iter(())
        elif head.chunked():
            body = chunks(engine)
        elif to_eof:
            body = to_end(engine)
        else:
            body = engine.exactly(head.length())
        if fault and fault.action == "header":
            head.replace(*fault.arg.split("=", 1))
        if fault and fault.action == "length":
            self.wrong_length(head, body, int(fault.arg), client)
        self.relay(head, damaged(body, fault, "resp-body"), fault, client)
        return not to_eof and "close" not in head.fields.get("connection", "").lower()

    @staticmethod
    def relay(head, body, fault, client):
        def message():
            yield head.raw
            yield from body
        for data in damaged(message(), fault, "resp"):
            client.send(data)

    @staticmethod
    def wrong_length(head, body, by, client):
        data = dechunk(body) if head.chunked() else b"".join(body)
        lines = [line for line in head.raw.split(b"\r\n")[:-2] if not
                 line.lower().startswith((b"content-length", b"transfer-encoding"))]
        lines.append(b"Content-Length: %d" % max(0, len(data) + by))
        client.send(b"\r\n".join(lines) + b"\r\n\r\n" + data)
        raise Closed

    def upgraded(self, head, fault, client, engine):
        """After 101 (or a bare 200 to an exec): bytes both ways, half-closes too."""
        def inward():
            try:
                for data in to_end(client):
                    engine.send(data)
                engine.half_close()
            except Closed:
                engine.close()
        threading.Thread(target=inward, daemon=True).start()
        self.relay(head, damaged(to_end(engine), fault, "resp-body"), fault, client)
        client.half_close()
        return False

    def listen(self, path):
        server = socket.socket(socket.AF_UNIX)
        server.bind(path + ".new")
        server.listen(64)
        os.rename(path + ".new", path)
        number = 0
        while True:
            sock, _ = server.accept()
            number += 1
            threading.Thread(target=self.serve, daemon=True,
                             args=(number, sock)).start()


def end_with_parent():
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)      # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(0)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--listen", required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--log")
    parser.add_argument("--fault", action="append", default=[])
    args = parser.parse_args()
    end_with_parent()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    Proxy(args).listen(args.listen)


if __name__ == "__main__":
    main()
