# SPDX-License-Identifier: MIT
"""exec_remote: jobs from their start to their end."""
COMMANDS = [
    "true", "false", "exit 7", "exit 256", "exit -1", "echo out", "echo err >&2", "echo out; echo err >&2", "printf 'no newline'", "nosuch_command_x",
    "nosuch_command_x; echo $?", "/nosuch/file", "/etc/passwd", "/", "cd /nosuch", "echo $0", "echo $#", "echo \"$-\"", "umask", "pwd", "id", "id -un", "echo $HOME",
    "echo $PATH", "env | cut -d= -f1 | sort | grep -v -e ^_ -e RESPONSE", "kill -9 $$", "kill -TERM $$", "kill -PIPE $$", "kill -SEGV $$", "kill -HUP $$", "ulimit -c",
    "cat", "cat; echo $?", "read x; echo $x", "if then", "echo 'unterminated", "(", "exit abc", ": ${x?message}", "set -u; echo $nosuch", "cat /nosuch", "ls /nosuch; echo $?",
    "printf 'a\\0b'", "printf '\\377\\376'", "printf '\\303'; sleep 0.1; printf '\\251'", "printf '\\342\\202'", "printf '\\355\\240\\200'", "printf '\\360\\237\\230\\200'",
    "printf '\\300\\257'", "printf '\\364\\220\\200\\200'", "printf 'a\\r\\nb'", "printf '\\033[31mred\\033[0m'", "seq 1000", "seq 20000 | tail -n 20000", "head -c 70000 /dev/zero | tr '\\0' x",
    "head -c 1500000 /dev/zero | tr '\\0' y", "head -c 1100000 /dev/zero | tr '\\0' z >&2", "for i in 1 2 3; do echo $i; sleep 0.1; done", "sleep 0.3; echo late",
    "echo a; sleep 0.3; exit 3", "(sleep 0.2; echo child) & wait", "sh -c 'sh -c \"echo deep\"'", "exec echo replaced", "trap 'echo bye' EXIT; echo hi", "echo $$ >/w/pid; test -s /w/pid; echo $?",
    "cat /proc/self/oom_score_adj", "cut -d' ' -f5,6 /proc/$$/stat | awk '{print ($1 == '$$') ($2 == '$$')}'", "test -t 0; echo $?; test -t 1; echo $?", "ls /proc/self/fd | wc -l",
    "grep -E '^Sig(Blk|Ign)' /proc/self/status", "echo 'é€😀'", "echo \"$(printf 'x%.0s' $(seq 100))\"", "tty", "nice", "hostname", "date +%Z", "stty -a",
    "echo one | cat - /nosuch", "false | true", "false || echo or", "test 1 -eq 2", "test x", "[ ", "sleep 0.2 & echo started", "yes | head -n 3", "yes | head -n 100000 | wc -l",
]


def run(w):
    w.start()
    for i, command in enumerate(COMMANDS):
        w.follow(f"{i} {command:.50}", {"command": command})
    for name, params in {
            "input": {"command": "cat", "input": "hello\n"}, "input without newline": {"command": "cat", "input": "x"}, "empty input": {"command": "cat; echo $?", "input": ""},
            "null input": {"command": "echo x", "input": None}, "input é": {"command": "cat", "input": "é€😀\0\n"}, "long input": {"command": "wc -c", "input": "x" * 60000},
            "very long input": {"command": "wc -c", "input": "x" * 500000}, "input of lines": {"command": "while read x; do echo \"<$x>\"; done", "input": "a\nb\nc"},
            "env": {"command": "echo $A-$B", "env": {"A": "1", "B": "é"}}, "empty env": {"command": "echo $HOME", "env": {}}, "null env": {"command": "echo $HOME", "env": None},
            "env HOME": {"command": "echo $HOME; cd; pwd", "env": {"HOME": "/w"}}, "env PATH": {"command": "echo $PATH; ls", "env": {"PATH": "/nosuch"}},
            "env empty value": {"command": "echo ${A-unset}", "env": {"A": ""}}, "env odd name": {"command": "env | grep odd", "env": {"odd name": "x", "odd.dot": "y"}},
            "env newline": {"command": "echo \"$A\"", "env": {"A": "1\n2"}}, "cwd": {"command": "pwd", "cwd": "/w"}, "cwd /": {"command": "pwd", "cwd": "/"},
            "cwd link": {"command": "pwd", "cwd": "/proc/self/cwd"}, "null cwd": {"command": "pwd", "cwd": None}, "relative cwd": {"command": "pwd", "cwd": "w"},
            "null user": {"command": "id -u", "user": None}, "cwd ..": {"command": "pwd", "cwd": "/w/../etc"}}.items():
        w.follow(name, params)
    for name, params in {
            "no command": {"command": ""}, "blank command": {"command": " "}, "comment": {"command": "# x"}, "cwd nosuch": {"command": "pwd", "cwd": "/nosuch"},
            "cwd file": {"command": "pwd", "cwd": "/etc/passwd"}, "cwd empty": {"command": "pwd", "cwd": ""}, "env =": {"command": "true", "env": {"A=B": "x"}},
            "env NUL": {"command": "true", "env": {"A": "x\0y"}}, "env name NUL": {"command": "true", "env": {"A\0": "x"}}, "command NUL": {"command": "echo a\0b"},
            "env empty name": {"command": "true", "env": {"": "x"}}, "cwd NUL": {"command": "true", "cwd": "/w\0"}, "cwd shut": {"command": "pwd", "cwd": "/root"},
            "long command": {"command": ": " + "x" * 140000}, "cwd long": {"command": "pwd", "cwd": "/" + "x" * 5000}}.items():
        w.follow(name, params)
    feeding(w)
    ending(w)


def poll(w, name, ack, method="poll", **params):
    w.call(name, "exec_remote_" + method, {"pid": "$pid", "ack_seq": ack, **params}, view=timeless)


def timeless(value):
    """A reply without what depends on how soon it comes: only its kind."""
    reply = value.get("reply") or {}
    if "result" in reply and isinstance(reply["result"], dict):
        return sorted(reply["result"])
    return value


def feeding(w):
    """Writing to a job, and acknowledging what it says."""
    for name, data in (("line", "a\n"), ("nothing", ""), ("é", "é\0\n"), ("lines", "1\n2\n3\n"), ("long", "y" * 60000 + "\n")):
        w.call(f"feed {name} starts", "exec_remote_start", {"command": "cat", "stdin_open": True}, save="pid")
        poll(w, f"feed {name}", 0, "write_stdin", data=data)
        poll(w, f"feed {name} again", 0, "write_stdin", data=data)
        poll(w, f"feed {name} poll", 0)
        poll(w, f"feed {name} close", 0, "close_stdin")
        poll(w, f"feed {name} close again", 0, "close_stdin")
        poll(w, f"feed {name} after close", 0, "write_stdin", data="x")
        w.end(f"feed {name}")
        for method, more in (("poll", {}), ("kill", {}), ("write_stdin", {"data": "x"}), ("close_stdin", {})):
            poll(w, f"feed {name} {method} after the end", 0, method, **more)
    for name, params in (("input and open", {"command": "cat", "input": "first\n", "stdin_open": True}), ("open alone", {"command": "head -n 1", "stdin_open": True})):
        w.call(f"{name} starts", "exec_remote_start", params, save="pid")
        poll(w, f"{name} write", 0, "write_stdin", data="second\n")
        poll(w, f"{name} close", 0, "close_stdin")
        w.end(name)
    for name, params in (("closed", {"command": "sleep 30"}), ("input only", {"command": "cat >/dev/null; sleep 30", "input": "x"}),
                         ("input null", {"command": "sleep 30", "input": None, "stdin_open": False})):
        w.call(f"{name} starts", "exec_remote_start", params, save="pid")
        poll(w, f"write to {name}", 0, "write_stdin", data="x")
        poll(w, f"close {name}", 0, "close_stdin")
        poll(w, f"kill {name}", 0, "kill")
        poll(w, f"kill {name} again", 0, "kill")


def said(w, told):
    """A job has made that file, and what it said before has been read."""
    w.until(f"test -e {told}")
    w.prepare("sleep 0.5")


def ending(w):
    for name, command in (("sleep", "sleep 100"), ("children", "sleep 100 & sleep 100 & wait"), ("trap", "trap 'echo term; exit 5' TERM; echo ready; sleep 100 & wait"),
                          ("output", "echo said; sleep 100"), ("ended", "true")):
        told = "/w/told-" + name
        w.call(f"kill {name} starts", "exec_remote_start", {"command": command.replace("sleep", f": >{told}; sleep", 1) if "sleep" in command else f": >{told}"}, save="pid")
        said(w, told)
        w.call(f"kill {name}", "exec_remote_kill", {"pid": "$pid", "ack_seq": 0})
        poll(w, f"poll {name} after the kill", 0)
        left = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep {} 'sleep 100[ ]'"
        w.until("! " + left.format("-q"))  # what is killed takes its time to die
        w.look(f"nothing is left of {name}", left.format("-c"))
    for pid in (0, -1, 1, 2**31, 2**63 - 1, 999999):
        for method, more in (("poll", {}), ("kill", {}), ("write_stdin", {"data": "x"}), ("close_stdin", {})):
            w.call(f"{method} of job {pid}", "exec_remote_" + method, {"pid": pid, "ack_seq": 0, **more})


def edges(w):
    """Numbers of replies; what outlives its job; many at once."""
    w.start()
    for ack in (0, 1, 5, -1, 2**40):
        told = f"/w/ack{ack}."
        w.call(f"ack {ack} starts", "exec_remote_start", {"command": f"echo a; : >{told}0; read x; echo $x; : >{told}1; read x; echo $x; : >{told}2", "stdin_open": True}, save="pid")
        said(w, told + "0")
        for i in range(3):
            w.call(f"ack {ack} write {i}", "exec_remote_write_stdin", {"pid": "$pid", "ack_seq": min(ack, i) if ack > 0 else ack, "data": f"w{i}\n"}, view=seq_only)
            said(w, f"{told}{min(i + 1, 2)}")
        w.call(f"ack {ack} close", "exec_remote_close_stdin", {"pid": "$pid", "ack_seq": 0 if ack < 5 else ack}, view=seq_only)
        w.call(f"ack {ack} kill", "exec_remote_kill", {"pid": "$pid", "ack_seq": 0}, view=seq_only)
    for i in range(30):
        w.call(f"many {i}", "exec_remote_start", {"command": f"sleep 0.{i % 5}; echo job {i}; exit {i}"}, save=f"many{i}")
    for i in range(30):
        w.end(f"many {i}", pid=f"$many{i}")
    for i, size in enumerate((0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 1048575, 1048576, 1048577, 3000000)):
        w.follow(f"size {size}", {"command": f"head -c {size} /dev/zero | tr '\\0' {'abcdefghijkl'[i]}"})
        w.follow(f"size {size} of both", {"command": f"head -c {size} /dev/zero | tr '\\0' o; head -c {size} /dev/zero | tr '\\0' e >&2"})
    w.follow("an orphan with the streams", {"command": "sleep 3 & echo parent"})
    w.follow("an orphan without them", {"command": "sleep 3 >/dev/null 2>&1 & echo parent"})
    w.follow("a session of its own", {"command": "setsid sleep 3 >/dev/null 2>&1 & echo parent"})


def seq_only(value):
    reply = (value.get("reply") or {}).get("result")
    return reply["seq"] if isinstance(reply, dict) and "seq" in reply else value
