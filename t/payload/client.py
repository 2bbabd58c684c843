#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A client of the server's socket that can do what the program never would: client.py SOCKET WHAT …

calls N [FLIGHT]       N calls, FLIGHT of them under way, over one connection
jobs N [FLIGHT]        N jobs, FLIGHT of them under way, each polled to its end
late N                 N jobs, all asked for when the last has been started
drain COMMAND [MS]     polls one job to its end, MS between polls; digest of what it said
flood COMMAND N        N jobs that nobody polls; prints their process ids
many N                 N connections at once, a call over each
hold N                 N connections that say nothing, until stdin ends
half N [BYTES]         N requests of 60 MB, of which BYTES arrive; held until stdin ends
slow                   a request, byte by byte, with others between
hurried N              N requests whose sender does not wait for the answer
deaf N                 N requests whose answers nobody reads, until stdin ends
unread N M BYTES       N connections that ask for M replies of BYTES each and read none, until
                       stdin ends
upto N                 N requests before the first answer is read; then all answers
bad                    what is no request, in many ways; prints how each connection ends
Each prints one line of words; it exits with 1 when an answer is wrong.
"""
import hashlib
import json
import socket
import struct
import sys
import threading
import time

HEAD = struct.Struct(">II")


class Connection:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        hello = self.read(16)
        assert hello[:8] == b"sbinject", hello
        self.tag = 0
        self.buf = b""

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.sock.recv(n - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def send(self, method, **params):
        self.tag += 1
        text = {"jsonrpc": "2.0", "id": self.tag, "method": method}
        if params:
            text["params"] = params
        text = json.dumps(text).encode()
        self.sock.sendall(HEAD.pack(len(text), self.tag) + text)
        return self.tag

    def receive(self):
        """The tag and the reply that comes next."""
        size, tag = HEAD.unpack(self.read(8))
        return tag, json.loads(self.read(size))

    def call(self, method, **params):
        self.send(method, **params)
        reply = self.receive()[1]
        if "result" not in reply:
            sys.exit(f"{method}: {reply}")
        return reply["result"]


def calls(path, n, flight=64):
    c, sent, got = Connection(path), 0, set()
    while len(got) < int(n):
        while sent < int(n) and sent - len(got) < int(flight):
            c.send("remote_version")
            sent += 1
        tag, reply = c.receive()
        assert reply["id"] == tag and reply["result"].startswith("Server: "), reply
        got.add(tag)
    print(len(got), "answered")


def jobs(path, n, flight=1):
    c, n, what, begun, running, most = Connection(path), int(n), {}, 0, 0, 0
    wrong = 0
    while begun < n or running:
        while begun < n and running < int(flight):
            what[c.send("exec_remote_start", command=f"echo {begun}; exit {begun % 7}")] = (begun, 0)
            begun, running = begun + 1, running + 1
        most = max(most, running)
        tag, reply = c.receive()
        number, pid = what.pop(tag)
        result = reply.get("result")
        if result is None:
            wrong += 1
            running -= 1
        elif pid == 0:
            what[c.send("exec_remote_poll", pid=result["pid"], ack_seq=0)] = (number, result["pid"])
        elif result["state"] == "running":
            what[c.send("exec_remote_poll", pid=pid, ack_seq=0)] = (number, pid)
        else:
            wrong += (result["stdout"], result["exit_code"]) != (f"{number}\n", number % 7)
            running -= 1
    print(n, "jobs", most, "at once", wrong, "wrong")
    sys.exit(wrong > 0)


def late(path, n):
    c, n = Connection(path), int(n)
    pids = [c.call("exec_remote_start", command=f"echo {i}; exit {i % 7}")["pid"] for i in range(n)]
    ends = [c.call("exec_remote_poll", pid=pid, ack_seq=0) for pid in pids]
    wrong = sum((end["stdout"], end["exit_code"]) != (f"{i}\n", i % 7) for i, end in enumerate(ends))
    print(n, "jobs", wrong, "wrong")


def drain(path, command, ms=0):
    c = Connection(path)
    pid, digest, size, polls, ack = c.call("exec_remote_start", command=command)["pid"], hashlib.md5(), 0, 0, 0
    while True:
        time.sleep(int(ms) / 1000)
        result = c.call("exec_remote_poll", pid=pid, ack_seq=ack)
        text = result["stdout"].encode()
        polls += 1
        digest.update(text)
        size += len(text)
        ack = result["seq"]
        if result["state"] != "running":
            print(size, "bytes", polls, "polls", digest.hexdigest(), "exit", result["exit_code"])
            return


def flood(path, command, n):
    c = Connection(path)
    print(*[c.call("exec_remote_start", command=command)["pid"] for _ in range(int(n))])


def many(path, n):
    all_of_them = [Connection(path) for _ in range(int(n))]
    for c in all_of_them:
        c.send("remote_version")
    for c in all_of_them:
        assert c.receive()[1]["result"].startswith("Server: ")
    print(len(all_of_them), "answered")


def wait_for_end():
    sys.stdout.flush()
    sys.stdin.read()


def hold(path, n):
    held = []
    for _ in range(int(n)):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect(path)
        except BlockingIOError:
            break
        held.append(s)
    print(len(held), "connected")
    wait_for_end()


def half(path, n, size=1000):
    held = [Connection(path) for _ in range(int(n))]
    block, ended = b"x" * 65536, 0
    for c in held:
        try:
            c.sock.sendall(HEAD.pack(60000000, 1))
            for left in range(int(size), 0, -65536):
                c.sock.sendall(block[:left])
        except (BrokenPipeError, ConnectionResetError):
            ended += 1
    print(len(held), "begun", ended, "refused")
    wait_for_end()


def slow(path):
    c, other = Connection(path), Connection(path)
    text = b'{"jsonrpc":"2.0","id":9,"method":"remote_version"}'
    for byte in HEAD.pack(len(text), 5) + text:
        c.sock.sendall(bytes([byte]))
        assert other.call("remote_version")
    tag, reply = c.receive()
    assert (tag, reply["id"]) == (5, 9)
    print("answered")


def hurried(path, n):
    for _ in range(int(n)):
        c = Connection(path)
        c.send("exec_remote_start", command="true")
        c.sock.close()
    print(n, "sent")


def deaf(path, n):
    c = Connection(path)
    c.sock.setblocking(False)
    sent = 0
    try:
        while sent < int(n):
            c.send("remote_version")
            sent += 1
    except BlockingIOError:
        pass
    print(sent, "sent")
    wait_for_end()


def unread(path, n, m, size):
    first = Connection(path)
    pid, held = first.call("exec_remote_start", command=f"head -c {size} /dev/zero | tr '\\0' x; exec sleep 1000")["pid"], 0
    while held < int(size):
        held = len(first.call("exec_remote_poll", pid=pid, ack_seq=0)["stdout"])
    deaf_ones = [Connection(path) for _ in range(int(n))]
    for c in deaf_ones:
        try:
            for _ in range(int(m)):
                c.send("exec_remote_poll", pid=pid, ack_seq=0)
        except (BrokenPipeError, ConnectionResetError):
            pass
    time.sleep(1)
    assert first.call("remote_version")
    print(n, "deaf")
    wait_for_end()


def upto(path, n):
    c = Connection(path)
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "remote_version"}).encode()
    threading.Thread(target=c.sock.sendall, args=[b"".join(HEAD.pack(len(text), i) + text for i in range(int(n)))]).start()
    time.sleep(1)
    tags = {c.receive()[0] for _ in range(int(n))}
    print(len(tags), "answered")


def bad(path):
    texts = {
        "length": HEAD.pack(0xFFFFFFFF, 1),
        "just over": HEAD.pack((64 << 20) + 1, 1),
        "empty": HEAD.pack(0, 1),
        "http": b"GET / HTTP/1.1\r\n\r\n",
        "no json": HEAD.pack(3, 1) + b"{{{",
        "zeros": HEAD.pack(1000, 1) + bytes(1000),
        "deep": HEAD.pack(100000, 1) + b"[" * 100000,
        "cut": HEAD.pack(100, 1) + b"x",
    }
    ends = []
    for name, text in texts.items():
        c = Connection(path)
        try:
            c.sock.sendall(text)
            c.sock.shutdown(socket.SHUT_WR)
            ends.append(f"{name}:{c.receive()[1]['error']['code']}")
        except (EOFError, BrokenPipeError, ConnectionResetError):
            ends.append(f"{name}:closed")
    print(*ends, sep=", ")


if __name__ == "__main__":
    what = {f.__name__: f for f in (calls, jobs, late, drain, flood, many, hold, half, slow, hurried, deaf, unread, upto, bad)}
    what[sys.argv[2]](sys.argv[1], *sys.argv[3:])
