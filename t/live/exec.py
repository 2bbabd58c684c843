#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same commands by an engine's exec and by "sbinject pipe --exec": exec.py SOCKET ID SBINJECT CASES...

Prints what is not the same, a line for each case: "NAME: refused", or how it differs. Cases are
named below; "refused" and "engine" (the engine did not start it either) are for the caller to
expect.
"""
import base64
import http.client
import json
import socket
import struct
import subprocess
import sys

PROBE = r"""
p=/proc/$$
while read -r l; do case $l in Uid*|Gid*|Groups*|Umask*|Cap*|NoNew*|Seccomp*|Sig[!Q]*|ShdPnd*|Cpus_allowed_list*) echo "$l";; esac; done <$p/status
tr '\0' '\n' <$p/environ
echo "cwd $(readlink $p/cwd) $PWD $(umask)"
for f in 0 1 2 3 4 5 6 7 8 9; do [ ! -e $p/fd/$f ] || echo "fd $f $(stat -L -c '%F %u %a' $p/fd/$f) $(sed -n 's/flags:[ 	]*//p' $p/fdinfo/$f)"; done
cat $p/limits $p/oom_score_adj $p/cgroup $p/coredump_filter $p/personality $p/loginuid 2>&1 | sed "s,/proc/$$/,/proc/PID/,"
sed 's/.*) //' $p/stat | awk -v p=$$ '{print "group", $3 == p, "session", $4 == p, "tty", $5, $6, "nice", $17, "sched", $38, $39}'
id; echo "$0 $*"; echo err >&2
"""
# NAME: argv, and what else. Files are made by "prepare" before.
CASES = {
    "probe": (["sh", "-c", PROBE, "zero", "one", "", "a b"], {}),
    "root": (["sh", "-c", PROBE], {"user": "root"}),
    "4321": (["sh", "-c", PROBE], {"user": "4321"}),
    "4321:55": (["sh", "-c", PROBE], {"user": "4321:55"}),
    "games": (["sh", "-c", PROBE], {"user": "games"}),
    "games:audio": (["sh", "-c", PROBE], {"user": "games:audio"}),
    "5": (["sh", "-c", PROBE], {"user": "5"}),
    "env": (["sh", "-c", PROBE], {"env": {"A": "x y", "PATH": "/bin:/usr/bin", "Z": "", "U": "\u00e9\n'\""}}),
    "home": (["sh", "-c", PROBE], {"env": {"HOME": "/h"}, "cwd": "/tmp", "user": "4321"}),
    "input": (["cat"], {"input": bytes(range(256)) * 2000}),
    "left input": (["head", "-c", "3"], {"input": b"x" * 300000}),
    "output": (["sh", "-c", "seq 100000; seq 1000 >&2; printf '\\377\\0'; exit 3"], {}),
    "9": (["sh", "-c", "kill -9 $$"], {}),
    "15": (["sh", "-c", "kill $$"], {}),
    "11": (["sh", "-c", "kill -11 $$"], {}),
    "255": (["sh", "-c", "exit 255"], {}),
    "stdout again": (["sh", "-c", "echo x >/dev/stdout; echo y >>/proc/self/fd/2"], {"user": "4321"}),
    "left behind": (["sh", "-c", "(sleep 0.2; echo late) & echo x"], {}),
    "first in PATH": (["t"], {"env": {"PATH": "/tmp/x/a:/tmp/x/b"}}),
    "no file in PATH": (["d"], {"env": {"PATH": "/tmp/x/a:/tmp/x/b"}}),
    "relative": (["./t"], {"cwd": "/tmp/x/b"}),
    "below": (["b/t"], {"cwd": "/tmp/x"}),
    "own in PATH": (["t"], {"env": {"PATH": "/tmp/x/o:/tmp/x/b"}, "user": "4321"}),
    "closed cwd": (["pwd"], {"cwd": "/tmp/x/c", "user": "4321"}),
    "link cwd": (["sh", "-c", "pwd; /bin/pwd"], {"cwd": "/tmp/x/l"}),
    "no program": (["nonesuch"], {}),
    "no path": (["/nonesuch"], {}),
    "directory": (["/tmp"], {}),
    "no format": (["/tmp/x/n"], {}),
    "no cwd": (["true"], {"cwd": "/nonesuch"}),
    "relative cwd": (["true"], {"cwd": "tmp"}),
    "no user": (["true"], {"user": "nonesuch"}),
    "no group": (["true"], {"user": "1:nonesuch"}),
    "no id": (["true"], {"user": "2147483648"}),
    "no name": (["true"], {"env": {"": "x"}}),
    "no PATH": (["true"], {"env": {"PATH": ""}}),
    "PATH from .": (["t"], {"cwd": "/tmp/x/b", "env": {"PATH": ":/bin"}}),
}
PREPARE = r"""mkdir -p /tmp/x/a/d /tmp/x/b /tmp/x/c /tmp/x/o; cd /tmp/x; ln -s b l
printf '#!/bin/sh\necho a\n' >a/t; printf '#!/bin/sh\necho b\n' | tee b/t b/d >/dev/null; chmod 755 b/t b/d
printf '#!/bin/sh\necho o\n' >o/t; chmod 755 o/t; chmod 700 o; chown 4321 o
echo 'echo n' >n; chmod 755 n; chmod 700 c"""


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("d")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Engine:
    def __init__(self, path, container):
        self.path, self.container = path, container

    def call(self, method, target, body=None):
        c = Connection(self.path)
        c.request(method, target, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        reply = c.getresponse()
        return reply.status, json.loads(reply.read() or b"null")

    def start(self, exec_id, data):
        """stdout, stderr; None if the engine did not give streams."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        body = b'{"Detach":false,"Tty":false}'
        s.sendall(b"POST /exec/%s/start HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                  b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (exec_id.encode(), len(body), body))
        f = s.makefile("rb")
        status = f.readline()
        while f.readline() not in (b"\r\n", b""):
            pass
        if b" 101 " not in status and b" 200 " not in status:
            return None
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        streams = {1: b"", 2: b""}
        try:
            while len(head := f.read(8)) == 8:
                kind, size = struct.unpack(">BxxxI", head)
                streams[kind] += f.read(size)
        except ConnectionResetError:
            pass  # Podman, where a program did not take all of its input
        return streams[1], streams[2]

    def run(self, argv, user=None, cwd=None, env=None, data=b""):
        """As the engine does it; None: not started."""
        body = {"AttachStdin": True, "AttachStdout": True, "AttachStderr": True, "Cmd": argv}
        if user is not None:
            body["User"] = user
        if cwd is not None:
            body["WorkingDir"] = cwd
        if env is not None:
            body["Env"] = [f"{k}={v}" for k, v in env.items()]
        code, made = self.call("POST", f"/containers/{self.container}/exec", body)
        streams = self.start(made["Id"], data) if code == 201 else None
        if streams is None:
            return None
        while (state := self.call("GET", f"/exec/{made['Id']}/json")[1])["Running"]:
            pass
        words = streams[0] + streams[1]
        if state["ExitCode"] in (125, 126, 127, 128, 255, -1) and (b"OCI runtime" in words or b"exec failed" in words or b"unable to find" in words or b"must be in range" in words):
            return None
        if b"exec format error" in words:
            return None
        return state["ExitCode"], *streams


class Pipe:
    def __init__(self, program, container):
        self.process = subprocess.Popen([program, "pipe", "--exec", container], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, argv, user=None, cwd=None, env=None, data=b""):
        params = {"argv": argv, "user": user, "cwd": cwd, "env": env, "input": base64.b64encode(data).decode() if data else None, "keep": 1 << 24}
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if "error" in reply:
            assert reply["error"]["code"] == -32011, reply
            return None
        result = reply["result"]
        out, err = (base64.b64decode(result[k]) for k in ("stdout", "stderr"))
        assert (len(out), len(err)) == (result["stdout_bytes"], result["stderr_bytes"])
        return result["status"], out, err

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def differences(want, got):
    if want[0] != got[0]:
        yield f"status {want[0]}, {got[0]}"
    for a, b in zip(want[1:], got[1:]):
        if sorted(a.splitlines()) == sorted(b.splitlines()):
            if a != b:
                yield "order"
            continue
        yield f"- {set(a.splitlines()) - set(b.splitlines())} + {set(b.splitlines()) - set(a.splitlines())}"[:600]


def main():
    path, container, program, *names = sys.argv[1:]
    engine, pipe = Engine(path, container), Pipe(program, container)
    assert engine.run(["sh", "-c", PREPARE], user="0:0") is not None
    for name in names or CASES:
        argv, options = CASES[name]
        options = dict(options)
        options["data"] = options.pop("input", b"")
        want, got = engine.run(argv, **options), pipe.run(argv, **options)
        if want is None and got is None:
            print(f"{name}: engine")
        elif got is None:
            print(f"{name}: refused")
        elif want is None:
            print(f"{name}: done")
        elif want != got:
            print(f"{name}: {'; '.join(differences(want, got))}")
    print(f"end: {pipe.close()}")


main()
