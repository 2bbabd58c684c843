# SPDX-License-Identifier: MIT
"""bash_session: shells on terminals."""
LINES = [
    "echo hello", "echo $((6*7))", "false; echo $?", "nosuch_command_x", "cd /w; pwd", "pwd", "export A=1", "echo $A", "echo $TERM $SHLVL $-", "echo $0", "tty | sed s/[0-9]*$//",
    "test -t 0; echo $?", "stty -a | grep -o -e -echo -e -icanon -e -opost -e isig", "stty size", "id", "umask", "printf 'no newline'; echo", "printf 'a\\tb\\rc\\n'", "printf '\\033[31mred\\033[0m\\n'",
    "printf '\\a\\b\\f\\v\\n'", "printf '\\033]0;title\\007x\\n'", "printf '\\033[?25l\\033[2J\\033[3~x\\n'", "printf '\\033(B\\033M\\033_x\\n'", "printf '\\303\\251\\377\\n'", "echo é€😀", "printf 'a\\0b\\n'",
    "seq 5", "seq 200", "for i in 1 2 3; do echo $i; sleep 0.1; done", "echo err >&2", "(exit 3); echo $?", "sleep 0.5; echo late", "echo 'a\nb'", "cat <<X\none\ntwo\nX",
    "read x\nanswer\necho \"<$x>\"", "cat /proc/self/oom_score_adj", "jobs", "sleep 100 &", "jobs | sed 's/[0-9]*//'", "kill %1; while kill -0 $! 2>/dev/null; do sleep 0.1; done; jobs", "set -o | grep -e emacs -e history -e monitor",
    "ulimit -c", "cut -d' ' -f5,6 /proc/$$/stat | awk '{print ($1 == '$$') ($2 == '$$')}'", "ls /proc/$$/fd | wc -l", "grep -E '^Sig(Ign)' /proc/self/status", "echo $PS1", "unset HISTFILE; history | tail -n 1 | wc -l",
    "env | cut -d= -f1 | sort | grep -v -e ^_ -e RESPONSE | tr '\\n' ' '", "echo $HOME $PWD", "head -c 20000 /dev/zero | tr '\\0' x; echo", "echo -n; echo", "true # comment", "sudo true", "if true; then\necho multi\nfi",
]


def run(w):
    w.start()
    w.call("new", "bash_session_new_session", {}, save="session")
    say(w, "first", "echo ready")
    for i, line in enumerate(LINES):
        say(w, f"{i} {line:.50}", line)
    for name, keys, until in (("interrupt sleep", "sleep 100\n", None), ("interrupt cat", "cat\n", None)):
        w.call(f"{name} starts", "bash_session", act(input=keys, wait_for_output=1), view=kind)
        w.say(name, "\u0003", r"[#$] $")
    w.call("read nothing", "bash_session", act(wait_for_output=1))
    w.call("null input", "bash_session", act(wait_for_output=1, input=None))
    w.call("empty input", "bash_session", act(wait_for_output=1, input=""))
    restarting(w)
    w.say("end of input", "exit\n", "exit")
    w.call("after the end", "bash_session", act(wait_for_output=1))
    w.call("restart after the end", "bash_session", {"session_name": "$session", "restart": True})
    say(w, "alive after the restart", "echo alive")
    w.call("restart one", "bash_session", {"session_name": "$session", "restart": 1})


def act(**params):
    return {"session_name": "$session", "wait_for_output": 5, "idle_timeout": 0.3, **params}


def kind(value):
    return type((value.get("reply") or {}).get("result")).__name__


def say(w, name, line):
    """The line, and something after it whose output cannot be taken for its echo."""
    w.say(name, line + "\necho END$((1+1))\n", r"END2\n.*[#$] $")


def restarting(w):
    say(w, "before the restart", "B=before; cd /; echo set")
    for i in range(2):
        w.call(f"restart {i}", "bash_session", {"session_name": "$session", "restart": True})
        say(w, f"after restart {i}", "echo ${B-unset} $PWD")
    for name, params in (("false", {"restart": False}), ("null", {"restart": None}), ("and input", {"restart": True, "input": "x"})):
        w.call(f"restart {name}", "bash_session", {"session_name": "$session", **params})


def edges(w):
    """Limits of output; several sessions; times."""
    w.start()
    for i in range(4):
        w.call(f"session {i}", "bash_session_new_session", {}, save="session")
        say(w, f"session {i} speaks", f"X={i}; echo $X")
    for name in ("BashSession", "BashSession_1", "BashSession_2", "BashSession_3"):
        for side in w.sides:
            side.vars["session"] = name
        say(w, f"{name} is itself", "echo $X")
    for name in ("nosuch", "", "BashSession_4", "bashsession", "é", "a'b", 'a"b', "a\nb"):
        w.call(f"unknown session {name!r}", "bash_session", {"session_name": name, "wait_for_output": 1, "idle_timeout": 0.1})
        w.call(f"restart of unknown {name!r}", "bash_session", {"session_name": name, "restart": True})
    for limit in (0, -1, 1, 10, 20, 50, 100, 120, 150, 1000, 1024, 2048, 4096, 65536, 1048576, 10485760, None):
        limits(w, limit)
    for wait, idle in ((0, 0), (0, 0.0), (1, 0), (-1, 0.1), (1, -0.5), (0, 1e-9)):
        w.call(f"times {wait} {idle}", "bash_session", act(wait_for_output=wait, idle_timeout=idle))


def limits(w, limit):
    """What is said while nobody listens is cut to the limit; that which is said to somebody who
    does is passed on as it comes, which differs from time to time."""
    w.call(f"limit {limit}: before", "bash_session", act(wait_for_output=1, idle_timeout=0.5), view=kind)
    w.call(f"limit {limit}: fill", "bash_session", act(
        input="sleep 0.3; printf '\u00e9%.0s' $(seq 1000); echo\n", wait_for_output=0, idle_timeout=0, max_output_bytes=limit), view=kind)
    w.prepare("sleep 1.5", user="root")
    w.call(f"limit {limit}", "bash_session", act(wait_for_output=1, max_output_bytes=limit))
    w.call(f"limit {limit}: rest", "bash_session", act(wait_for_output=1))
