#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Commands over a pipe: commands.py PROGRAM WHAT, which prints what is to be compared."""
import base64
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time

PROGRAM = sys.argv[1]
WORLD = {"cwd": "/", "has_home": True, "settle_ms": 0}


def wait_for(condition):
    """Half a minute, because what comes late on a busy machine is no failure."""
    for _ in range(1500):
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(") ", 1)[1][0] in "ZX"
    except OSError:
        return True


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


class Pipe:
    def __init__(self, world=None, **options):
        argument = [] if world == {} else [json.dumps(WORLD | (world or {}))]
        self.process = subprocess.Popen(
            [PROGRAM, "pipe", *argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.count = 0

    def send(self, method, params=None, **members):
        self.count += 1
        request = {"jsonrpc": "2.0", "method": method, "id": self.count} | members
        if params is not None:
            request["params"] = params
        if members.get("id", 0) is None:
            del request["id"]
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return self.count

    def reply(self):
        return json.loads(self.process.stdout.readline())

    def start(self, *argv, **params):
        if "input" in params:
            params["input"] = base64.b64encode(params["input"]).decode()
        return self.send("run", {"argv": argv} | params)

    def run(self, *argv, **params):
        """Status, stdout, stderr; or code and message of an error."""
        self.start(*argv, **params)
        return self.result()

    def result(self, reply=None):
        reply = reply or self.reply()
        if "error" in reply:
            return reply["error"]["code"], reply["error"].get("data") or reply["error"]["message"]
        result = reply["result"]
        return result["status"], base64.b64decode(result["stdout"]), base64.b64decode(result["stderr"])

    def shell(self, script, **params):
        return self.run("sh", "-c", script, **params)

    def kill(self, number):
        self.send("run_kill", {"id": number}, id=None)

    def keepers(self):
        pids = read(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split()
        return [int(p) for p in pids]

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(), len(rest.splitlines())


def plain():
    p = Pipe({})
    print(p.run("true"), p.send("run_kill", {"id": 1}) and p.result())
    p.send("sandbox_tools_shutdown")
    p.reply()
    p.end()


def results():
    p = Pipe()
    print(p.shell("echo out; echo err >&2; exit 7"))
    print(p.run("true"), p.run("sh", "-c", "kill -9 $$"), p.run("sh", "-c", "kill -TERM $$"))
    print(p.run("cat", input=b"\0\xff\n"), p.run("cat"), p.run("printf", "%s|", "", "a b", "\u00e9\n'"))
    print(p.end())


def parameters():
    p = Pipe()
    for params in (None, {}, {"argv": []}, {"argv": "x"}, {"argv": [1]}, {"argv": ["x"], "keep": -1}, {"argv": ["x"], "keep": 1 << 25},
                   {"argv": ["x"], "env": {"A": 1}}, {"argv": ["x"], "cwd": 1}, {"argv": ["x"], "other": 1}, {"argv": ["true"], "input": "x"},
                   {"argv": ["true"], "input": "eA="}, {"argv": ["true"], "input": "eB=="}, {"argv": ["true"], "input": "e\u00e9=="}, [1]):
        p.send("run", params)
        print(p.result()[0], end=" ")
    for params in (None, {}, {"id": None}, {"id": 1, "x": 2}):
        p.send("run_kill", params)
        print(p.result()[0], end=" ")
    p.send("run_kill", {"id": "nobody"})
    print(p.reply()["result"], p.end())


def refused():
    p = Pipe()
    for argv, params in ((["nonesuch"], {}), (["/nonesuch"], {}), (["/"], {}), ([""], {}), (["x" * 5000], {}), (["a\0b"], {}), (["\ud800"], {}),
                         (["true"], {"cwd": "/nonesuch"}), (["true"], {"cwd": "tmp"}), (["true"], {"cwd": "/etc/passwd"}),
                         (["true"], {"env": {"": "x"}}), (["true"], {"env": {"a=b": "x"}}), (["true"], {"env": {"HOME": ""}}), (["true"], {"env": {"PATH": ""}}),
                         (["true"], {"env": {"PATH": "bin:/bin"}}), (["true"], {"env": {"A": "x" * 3000000}}),
                         (["true"], {"user": "nonesuch"}), (["true"], {"user": ""}), (["true"], {"user": "0:"}), (["true"], {"user": "-1"}), (["true"], {"user": "2147483648"})):
        code, message = p.run(*argv, **params)
        print(code, message[:13], end="; ")
    print(p.end())
    p = Pipe({"refused": "because"})
    print(p.run("true"), p.run("true", user="0")[0], p.end())


def world():
    """What commands begin with."""
    env = {"PATH": os.environ["PATH"], "B": "1", "A": "2", "HOME": "/h"}
    p = Pipe({"cwd": "/tmp", "has_home": False}, env=env, umask=0o27)
    print(p.shell("tr '\\0' ' ' </proc/$$/environ; echo; pwd; umask", env={"C": "", "B": "3"})[1].decode().replace(env["PATH"], "P"))
    print(p.shell("echo $HOME", user="4321:55")[1], p.shell("echo $HOME", env={"HOME": "/x"})[1], p.end())
    p = Pipe({"user": "4321:55", "groups": ["77"]}, env=env)
    print(p.shell("id -u; id -G; stat -L -c %u /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 | uniq; echo x >/dev/stdout"))
    print(p.shell("id -u; id -G", user="0:0")[1], p.end())
    p = Pipe({"has_home": False}, env={"HOME": "/h"} | env)
    print(p.run("true")[0], p.end())


def begin_oddly():
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    resource.setrlimit(resource.RLIMIT_NOFILE, (99, 1000))


def process():
    p = Pipe(preexec_fn=begin_oddly, restore_signals=True)
    status = ["grep", "-E", "Sig(Blk|Ign)|NoNew", "/proc/self/status"]
    want = subprocess.run(status, stdout=subprocess.PIPE, preexec_fn=begin_oddly, check=True).stdout
    print(p.run(*status)[1] == want, [int(line.split()[1], 16) & 0xa00 for line in want.splitlines()[:2]], end=" ")
    print(p.shell("ulimit -Sn; ulimit -Hn")[1].split(), end=" ")
    print(p.run("ls", "/proc/self/fd")[1].split(), p.run("sh", "-c", "awk -v p=$$ '{ print $5 == p, $6 == p, $7 }' /proc/$$/stat")[1], p.end())


def kept():
    p = Pipe()
    for keep in (0, 1, 5, 6888896, 1 << 24):
        p.start("seq", "1000000", keep=keep)
        result = p.reply()["result"]
        out = base64.b64decode(result["stdout"])
        print(len(out), hashlib.md5(out).hexdigest()[:6], result["stdout_bytes"], end="; ")
    whole = subprocess.run(["seq", "1000000"], stdout=subprocess.PIPE, check=True).stdout
    print(all(hashlib.md5(whole[len(whole) - n:]).hexdigest() for n in (0, 1)), hashlib.md5(whole).hexdigest()[:6], hashlib.md5(whole[-5:]).hexdigest()[:6])
    data = os.urandom(12000000)
    status, out, err = p.shell("tee /dev/stderr", input=data, keep=1 << 24)
    print(status, out == data, err == data, p.run("true", input=data)[0], p.run("head", "-c", "2", input=b"x" * 5000000)[1], p.end())


TREE = """trap '' TERM HUP INT; echo $$ >pids
(trap '' TERM; setsid sh -c 'echo $$ >>pids; sleep 1000 & echo $! >>pids; wait') &
setsid sh -c '(sleep 1000 >/dev/null 2>&1 & echo $! >>pids) &'
(kill -STOP $(sh -c 'echo $PPID >>pids; echo $PPID')) &
sleep 1000 & echo $! >>pids; wait"""


def tree(p):
    """Starts one: the pids of all of it."""
    if os.path.exists("pids"):
        os.remove("pids")
    number = p.start("sh", "-c", TREE, cwd=os.getcwd())
    assert wait_for(lambda: read("pids").count("\n") >= 6)
    return number, [int(x) for x in read("pids").split()]


def killed():
    p = Pipe()
    number, pids = tree(p)
    print(len(pids) >= 6 and not any(map(is_dead, pids)), end=" ")
    p.kill(number)
    p.kill(number)
    print(p.result()[0], all(map(is_dead, pids)), wait_for(lambda: not p.keepers()), p.run("true")[0], end=" ")
    number, pids = tree(p)
    print(p.end(), all(map(is_dead, pids)), end=" ")
    p = Pipe()
    number, pids = tree(p)
    p.process.kill()
    print(p.process.wait(), wait_for(lambda: all(map(is_dead, pids))), end=" ")
    p = Pipe()
    number = p.start("sleep", "1000")
    assert wait_for(lambda: p.keepers() and read(f"/proc/{p.keepers()[0]}/task/{p.keepers()[0]}/children"))
    keeper = p.keepers()[0]
    child = int(read(f"/proc/{keeper}/task/{keeper}/children").split()[0])
    os.kill(keeper, signal.SIGKILL)
    print(p.result(), wait_for(lambda: is_dead(child)), wait_for(lambda: not p.keepers()), p.run("true")[0], p.end())


def left_behind():
    """What a command leaves behind goes on, and outlives the pipe."""
    p = Pipe()
    pid = int(p.shell("sleep 1000 >/dev/null 2>&1 & echo $!")[1])
    print(is_dead(pid), wait_for(lambda: read(f"/proc/{pid}/stat").split(") ")[1].split()[1] == "1"), end=" ")
    status, out, err = p.shell("(trap 'echo ended >>end; exit' PIPE; while sleep 0.05; do echo x || exit; done) & echo $!", cwd=os.getcwd())
    print(status, wait_for(lambda: is_dead(int(out.split()[0]))), p.end(), is_dead(pid))
    os.kill(pid, signal.SIGKILL)
    p = Pipe({"settle_ms": 1000})
    status, out, err = p.shell("(n=0; while [ -e go ]; do echo $n; n=$((n + 1)); echo $n >n; done) & echo pid $!", cwd=os.getcwd(), keep=20)
    print(status, end=" ")
    p.shell("true")
    before = int(read("n") or 0)
    p.end()
    print(wait_for(lambda: int(read("n") or 0) > before + 100000 // 8), end=" ")
    os.remove("go")
    print(wait_for(lambda: not subprocess.run(["pgrep", "-f", "^[^ ]* pipe .*settle_ms"], stdout=subprocess.PIPE).stdout))
    p = Pipe({"settle_ms": 1000000})
    print(p.shell("(sleep 0.3; echo late) & echo x"), p.end())


def many(n):
    p = Pipe()
    numbers = [p.start("sleep", "1000") for _ in range(int(n))]
    code, message = p.run("true")
    print(code, message, end=" ")
    p.send("version")
    print("result" in p.reply(), end=" ")
    for number in numbers:
        p.kill(number)
    print({p.result()[0] for _ in numbers}, wait_for(lambda: not p.keepers()), end=" ")
    fds = len(os.listdir(f"/proc/{p.process.pid}/fd"))
    for _ in range(3):
        for _ in numbers:
            p.start("sh", "-c", "exit 3")
        print({p.result()[0] for _ in numbers}, end=" ")
    print(wait_for(lambda: not p.keepers()), len(os.listdir(f"/proc/{p.process.pid}/fd")) == fds, p.end())


def many_left(n):
    p = Pipe({"settle_ms": 1})
    statuses = {p.shell("while [ -e go ]; do sleep 1; done &", cwd=os.getcwd())[0] for _ in range(int(n))}
    print(statuses, *p.run("true"), end=" ")
    os.remove("go")
    print(wait_for(lambda: not p.keepers()), p.run("true")[0], p.end())


def rss(pid):
    return int((read(f"/proc/{pid}/status") + "VmRSS: 0").split("VmRSS:")[1].split()[0])


def floods():
    p = Pipe()
    numbers = [p.start("yes", keep=1 << 20) for _ in range(5)]
    assert wait_for(lambda: len(p.keepers()) == 5)
    assert p.run("true")[0] == 0
    print(0 < max(map(rss, p.keepers())) < 60000, end=" ")
    for number in numbers:
        p.kill(number)
    print({p.result()[0] for _ in numbers}, end=" ")
    # more than all together may have: who asks for it then is ended, be it one of them or each
    too_much = "is more than is kept"
    numbers = [p.start("sh", "-c", "head -c 16777216 /dev/zero; head -c 16777216 /dev/zero >&2; sleep 1000", keep=1 << 24) for _ in range(10)]
    first = p.reply()
    print(too_much in first["error"]["data"], end=" ")
    for number in numbers:
        if number != first["id"]:
            p.kill(number)
    others = [p.reply() for _ in numbers[1:]]
    print({r["result"]["stdout_bytes"] <= 16777216 if "result" in r else too_much in r["error"]["data"] for r in others}, end=" ")
    print(p.shell("head -c 16777216 /dev/zero; head -c 16777216 /dev/zero >&2", keep=1 << 24)[0], p.run("true", input=b"x")[0], p.end())


def unread():
    """Nobody reads the replies: they wait in the keepers, and the pipe does not grow."""
    p = Pipe()
    for _ in range(40):
        p.start("head", "-c", "3000000", "/dev/zero", keep=1 << 22)
    p.process.stdin.flush()
    assert wait_for(lambda: sum(1 for k in p.keepers() if read(f"/proc/{k}/task/{k}/children") == "") == len(p.keepers()) > 20)
    print(rss(p.process.pid) < 80000, {len(p.result()[1]) for _ in range(40)}, p.end())


def at_once():
    """A command that takes its time keeps nobody waiting."""
    p = Pipe()
    number = p.start("cat", "/dev/zero", keep=1000)
    print([p.run("echo", str(n))[1] for n in range(3)], end=" ")
    p.kill(number)
    print(p.result()[0], p.end())


if __name__ == "__main__":
    globals()[sys.argv[2]](*sys.argv[3:])
