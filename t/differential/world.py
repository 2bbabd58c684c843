# SPDX-License-Identifier: MIT
"""Two containers that are the same but for the in-container program, and requests to both."""
import http.client
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

HOME = "/var/tmp/.da7be258e003d428"
PROGRAM = HOME + "/inspect-sandbox-tools"
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.pl")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FORKER = "/var/lib/forker.so"
FORKED = {"INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES"}  # variables that are read with a request
SERVED = re.compile("bash_session|exec_remote_|mcp_|remote_version|text_editor|version")


def docker(*args, data=None):
    done = subprocess.run(("docker",) + args, input=data, stdout=subprocess.PIPE, check=True)
    return done.stdout


class Agent:
    """Runs programs as one user of one container."""

    def __init__(self, container, user):
        with open(AGENT, "rb") as script:
            text = script.read()
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            ("docker", "exec", "-i", "-u", user, "-w", "/", container, "perl", "-e", text),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, args, data, env, seconds, forker):
        fields = [str(seconds), forker, data, str(len(env))] + [f"{k}={v}" for k, v in env.items()] + args
        fields = [f if isinstance(f, bytes) else f.encode() for f in fields]
        with self.lock:
            self.process.stdin.write(struct.pack(">I", len(fields)) + b"".join(
                struct.pack(">I", len(f)) + f for f in fields))
            self.process.stdin.flush()
            status, out, err = [self.take(self.number()) for _ in range(self.number())]
        return int(status), out, err

    def take(self, size):
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise RuntimeError("the agent in the container has ended")
        return data

    def number(self):
        return struct.unpack(">I", self.take(4))[0]


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=150)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(150)
        self.sock.connect(self.path)


class Side:
    """One of the two containers. 'keeper' is the user whose tools these are."""

    def __init__(self, name, program, options, keeper, forker=""):
        self.name, self.keeper = name, keeper
        self.forker = FORKER if forker else ""
        self.vars = {}
        self.agents = {}
        self.container = docker(
            "run", "-d", "--rm", "--init", "--hostname", "box", "--network", "none", *options,
            "sbinject-test/differential:1", "sleep", "100000").decode().strip()
        self.place(program)
        pid = docker("inspect", "-f", "{{.State.Pid}}", self.container).decode().strip()
        self.root = f"/proc/{pid}/root"
        self.socket = f"{self.root}{HOME}/.server/sandbox-tools.sock"
        if forker:
            shutil.copy(forker, self.root + FORKER)
        version = '{"jsonrpc": "2.0", "id": 1, "method": "version"}'
        self.version = json.loads(self.run([PROGRAM, "exec", version])[1])["result"]

    def place(self, program):
        self.run(["/bin/sh", "-c", f"mkdir -m 700 {HOME} && tar -C {HOME} -xf - --no-same-owner "
                  "&& chmod 755 " + PROGRAM], program, user=self.keeper)

    def run(self, args, data=b"", user=None, env=None, seconds=150, forker=""):
        user = user or self.keeper
        if user not in self.agents:
            self.agents[user] = Agent(self.container, user)
        everything = {"PATH": PATH, "HOME": "/root" if user == "root" else "/home/" + user}
        everything.update(env or {})
        return self.agents[user].run(args, data, everything, seconds, forker)

    def exec(self, text, user=None, env=None):
        data = text if isinstance(text, bytes) else text.encode()
        forker = self.forker if not user and set(env or ()) <= FORKED else ""
        return self.run([PROGRAM, "exec"], data, user, env, forker=forker)

    def ask(self, text):
        """The server's answer, over its socket, as the program's command would have it."""
        connection = Connection(self.socket)
        try:
            connection.request("POST", "/", text.encode(), {"Content-Type": "application/json"})
            return 0, connection.getresponse().read(), b""
        finally:
            connection.close()

    def remove(self):
        for agent in self.agents.values():
            agent.process.kill()
            agent.process.wait()
        docker("rm", "-f", self.container)

    def fill(self, value):
        """'value' with what this side calls $name in its place."""
        if isinstance(value, dict):
            return {self.fill(k): self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        if isinstance(value, str) and value.startswith("$") and value[1:] in self.vars:
            return self.vars[value[1:]]
        return value

    def mask(self, text):
        """'text' without process ids: those of jobs as their names, others as PID. Each program has
        a version of its own."""
        text = re.sub(r"(?<![\d.])" + re.escape(self.version) + r"(?![\d.])", "VERSION", text)
        text = re.sub(r"(Server: \S+) \(\d+\)", r"\1 (PID)", text)
        text = re.sub(r"/proc/\d+/", "/proc/PID/", text)
        text = re.sub(r"(\[\d+\]) \d+(?=\n|$)", r"\1 PID", text)
        return re.sub(r"\bpid (\d+)", lambda m: "pid " + self.name_of(int(m[1])), text)

    def name_of(self, number):
        return next(("$" + k for k, v in self.vars.items() if v == number and number > 1), str(number))

    def clean(self, value):
        """The same within a reply."""
        if isinstance(value, dict):
            return {k: self.name_of(v) if k == "pid" and isinstance(v, int) else self.clean(v)
                    for k, v in value.items()}
        if isinstance(value, list):
            return [self.clean(v) for v in value]
        return self.mask(value) if isinstance(value, str) else value


def both(sides, work):
    """work(side) for both at once, so that both meet the same load."""
    results = [None, None]

    def one(i):
        try:
            results[i] = work(sides[i])
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, (RuntimeError, AssertionError)):
            raise result
    return results


def outcome(side, result):
    """What is compared of a call: status and reply, without pids, traces and the own version."""
    if isinstance(result, Exception):
        return {"failure": type(result).__name__}
    status, out, err = result
    got = {"status": status}
    if status != 0:
        got["stderr"] = bool(err)
        got["error"] = b"error" in err.lower()
    try:
        reply = json.loads(out) if out.strip() else None
    except ValueError:
        got["text"] = side.mask(out.decode("utf-8", "replace"))
        return got
    if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
        reply["error"].pop("data", None)
    got["reply"] = side.clean(reply)
    return got


class World:
    def __init__(self, group, programs, report, whole, options=(), keeper="root"):
        self.group, self.report, self.whole = group, report, whole
        self.sides = [Side(name, program, options, keeper, forker) for name, program, forker in programs]
        self.number = 0

    def remove(self):
        for side in self.sides:
            side.remove()

    def start(self, env=None):
        return both(self.sides, lambda s: s.run([PROGRAM, "start-server"], env=env))

    def compare(self, name, values):
        self.number += 1
        self.report.add(f"{self.group}/{name}", *values)

    def send(self, side, request, user=None, env=None):
        """One request. What the server answers it is asked for itself, on the side whose command
        takes its time to start, unless all shall go through the command."""
        text = request if isinstance(request, str) else json.dumps(side.fill(request))
        if (side is self.sides[0] and not self.whole and not user and not env
                and isinstance(request, dict) and SERVED.match(str(request.get("method")))
                and "_run_as" not in str(request.get("params")) and len(text) < 1000000
                and "id" in request and os.path.exists(side.socket)):
            return side.ask(text)
        return side.exec(text, user, env)

    def call(self, name, method, params=None, save=None, user=None, env=None, number=1, view=None):
        """Ask both, compare, and return both results. 'save' is what the result's number is called
        from now on; 'view' is what is compared of an outcome instead of all of it."""
        request = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            request["params"] = params
        return self.raw(name, request, save, user, env, view)

    def raw(self, name, request, save=None, user=None, env=None, view=None):
        results = both(self.sides, lambda s: self.send(s, request, user, env))
        replies = [self.result(r) for r in results]
        if save:
            for side, reply in zip(self.sides, replies):
                side.vars[save] = self.number_in(reply)
        values = [outcome(s, r) for s, r in zip(self.sides, results)]
        self.compare(name, [view(v) for v in values] if view else values)
        return replies

    @staticmethod
    def result(result):
        try:
            return json.loads(result[1])["result"]
        except (TypeError, ValueError, KeyError):
            return None

    @staticmethod
    def number_in(reply):
        if isinstance(reply, dict):
            reply = reply.get("pid", reply.get("session_name"))
        return reply

    def command(self, name, args, data=b"", user=None, env=None, view=None):
        """The program with these arguments; its output is text."""
        def work(side):
            status, out, err = side.run([PROGRAM, *args], data, user, env)
            return {"status": status, "stdout": side.mask(out.decode("utf-8", "replace")),
                    "stderr": bool(err)}
        values = both(self.sides, work)
        self.compare(name, [view(v) for v in values] if view else values)

    def look(self, name, script, user="root"):
        """What a shell in the containers has to say."""
        def work(side):
            status, out, err = side.run(["/bin/sh", "-c", script], b"", user)
            return {"status": status, "stdout": side.mask(out.decode("utf-8", "replace")),
                    "stderr": err.decode("utf-8", "replace")}
        self.compare(name, both(self.sides, work))

    def prepare(self, script, user="root"):
        """The same, and nothing is compared; a failure is one of the test."""
        def work(side):
            status, out, err = side.run(["/bin/sh", "-c", script], b"", user)
            assert status == 0, f"{script}: {err}"
        both(self.sides, work)

    def until(self, condition, seconds=60):
        """Waits for what a shell in the containers can test; what is compared next tells the rest."""
        self.prepare(f"i=0; until {condition} || [ $((i += 1)) -gt {seconds * 20} ]; do sleep 0.05; done")

    def write(self, path, data):
        """A file, from outside."""
        for side in self.sides:
            with open(side.root + path, "wb") as file:
                file.write(data)

    def files(self, name, *paths):
        """Kind, owner, mode and content of files, from outside."""
        self.compare(name, [[describe(side.root + p) for p in paths] for side in self.sides])

    def follow(self, name, params, seconds=60):
        """A job from its start to its end: two outcomes, the start's and the end's."""
        started = self.call(name + " starts", "exec_remote_start", params, save="pid")
        if None not in started:
            self.end(name, seconds, again=params)

    def end(self, name, seconds=60, pid="$pid", again=None):
        """The end of a job. Theirs can lose what a job said last, so that it may try again."""
        values = both(self.sides, lambda s: self.drain(s, pid, seconds))
        for _ in range(3 if again else 0):
            if values[0] == values[1]:
                break
            theirs = self.sides[0]
            reply = self.result(self.send(theirs, {
                "jsonrpc": "2.0", "id": 1, "method": "exec_remote_start", "params": again}))
            values[0] = self.drain(theirs, reply["pid"], seconds) if reply else "lost"
        self.compare(name, values)

    def drain(self, side, pid, seconds):
        ack, deadline, out, err = 0, time.monotonic() + seconds, "", ""
        while time.monotonic() < deadline:
            request = {"jsonrpc": "2.0", "id": 1, "method": "exec_remote_poll",
                       "params": {"pid": pid, "ack_seq": ack}}
            reply = self.result(self.send(side, request))
            if not reply:
                return "lost"
            ack, out, err = reply["seq"], out + reply["stdout"], err + reply["stderr"]
            if reply["state"] != "running":
                return {"state": reply["state"], "code": reply["exit_code"],
                        "stdout": side.mask(out), "stderr": side.mask(err)}
            time.sleep(0.02)
        return "late"

    def say(self, name, text, until, session="$session", seconds=60):
        """Types into a shell and reads until the pattern is there."""
        def work(side):
            heard, deadline, typed = "", time.monotonic() + seconds, text
            while time.monotonic() < deadline:
                params = {"session_name": session, "wait_for_output": 3, "idle_timeout": 0.3}
                if typed is not None:
                    params["input"], typed = typed, None
                reply = self.result(self.send(side, {
                    "jsonrpc": "2.0", "id": 1, "method": "bash_session", "params": params}))
                if reply is None:
                    return "lost"
                heard += reply
                if re.search(until, heard):
                    return side.mask(heard)
            return "late: " + heard
        self.compare(name, both(self.sides, work))


def describe(path):
    try:
        status = os.lstat(path)
    except OSError as error:
        return type(error).__name__
    kind = oct(status.st_mode)
    text = ""
    if kind.startswith("0o100"):
        with open(path, "rb") as file:
            text = repr(file.read())
    return f"{kind} {status.st_uid} {status.st_gid} {text}"
