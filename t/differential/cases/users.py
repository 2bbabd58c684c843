# SPDX-License-Identifier: MIT
"""Users by name and by identity, for each tool that can be started as another."""
WHO = {
    "null": None, "root": "root", "user": "user", "other": "other", "homeless": "homeless", "daemon": "daemon", "nobody": "nobody", "unknown": "nosuch", "empty": "", "number": "1000",
    "uid in a name": "1000:1000", "space": "us er", "NUL": "user\0", "é": "é", "long": "u" * 300, "colon": "root:x", "newline": "user\n",
    "id root": {"uid": 0, "gid": 0, "groups": [0], "home": "/root"}, "id root, no groups": {"uid": 0, "gid": 0, "groups": [], "home": None}, "id user": {"uid": 1000, "gid": 1000, "groups": [1000, 2000], "home": "/home/user"},
    "id user, other order": {"uid": 1000, "gid": 1000, "groups": [2000, 1000], "home": None}, "id user, no groups": {"uid": 1000, "gid": 1000, "groups": [], "home": None},
    "id user, one group": {"uid": 1000, "gid": 1000, "groups": [1000], "home": None}, "id no home": {"uid": 1000, "gid": 1000, "groups": [1000]}, "id empty home": {"uid": 1000, "gid": 1000, "groups": [1000], "home": ""}, "id home": {"uid": 1000, "gid": 1000, "groups": [1000], "home": "/w"},
    "id home nosuch": {"uid": 1000, "gid": 1000, "groups": [1000], "home": "/nosuch/x"}, "id other gid": {"uid": 1000, "gid": 1001, "groups": [1001], "home": None}, "id nobody knows": {"uid": 4242, "gid": 4343, "groups": [4444], "home": None},
    "id homeless": {"uid": 1002, "gid": 1000, "groups": [1000], "home": None}, "id twice": {"uid": 1001, "gid": 1001, "groups": [1001, 1001, 5], "home": None}, "id many": {"uid": 1001, "gid": 1001, "groups": list(range(3000, 3040)), "home": None},
    "id empty": {}, "id uid": {"uid": 1000}, "id uid, gid": {"uid": 1000, "gid": 1000}, "id extra": {"uid": 1000, "gid": 1000, "groups": [], "home": None, "shell": "x"}, "id strings": {"uid": "1000", "gid": "1000", "groups": ["1000"], "home": None},
    "id floats": {"uid": 1000.0, "gid": 1000.0, "groups": [1000.0], "home": None}, "id half": {"uid": 1000.5, "gid": 1000, "groups": [], "home": None}, "id true": {"uid": True, "gid": 1, "groups": [], "home": None}, "id null": {"uid": None, "gid": 1, "groups": [], "home": None},
    "id negative": {"uid": -1, "gid": -1, "groups": [-1], "home": None}, "id minus two": {"uid": 1000, "gid": -2, "groups": [], "home": None}, "id huge": {"uid": 2**32, "gid": 1, "groups": [], "home": None}, "id largest": {"uid": 2**32 - 1, "gid": 1, "groups": [], "home": None},
    "id beyond": {"uid": 2**70, "gid": 1, "groups": [], "home": None}, "id groups null": {"uid": 1000, "gid": 1000, "groups": None, "home": None}, "id groups string": {"uid": 1000, "gid": 1000, "groups": "x", "home": None}, "id home 5": {"uid": 1000, "gid": 1000, "groups": [], "home": 5},
    "id home NUL": {"uid": 1000, "gid": 1000, "groups": [], "home": "/\0"}, "id group huge": {"uid": 1000, "gid": 1000, "groups": [2**32], "home": None}, "list": ["user"], "five": 5, "true": True,
}


def run(w):
    w.start()
    w.prepare("mkdir -p /w/u && chmod 777 /w/u && echo x >/w/u/shut && chmod 600 /w/u/shut", user="root")
    for name, who in WHO.items():
        w.follow(f"job as {name}", {"command": "id; echo \"$HOME|$USER|$LOGNAME|$SHELL|$PWD\"; umask; touch /w/u/job; grep -E '^(Cap(Eff|Inh|Amb)|NoNew)' /proc/self/status; cd; pwd", "user": who})
        w.prepare("rm -f /w/u/job", user="root")
        w.call(f"view as {name}", "text_editor", {"command": "view", "path": "/w/u/shut", "_run_as": who})
        w.call(f"create as {name}", "text_editor", {"command": "create", "path": "/w/u/new", "file_text": "x\n", "_run_as": who})
        w.files(f"created as {name}", "/w/u/new")
        w.call(f"undo as {name}", "text_editor", {"command": "undo_edit", "path": "/w/u/new", "_run_as": who})
        w.prepare("rm -f /w/u/new", user="root")
    w.follow("job as user with HOME", {"command": "echo $HOME", "user": "user", "env": {"HOME": "/w"}})
    w.follow("job as user with env", {"command": "echo $HOME $A", "user": "user", "env": {"A": "1"}})
    w.follow("job as identity with HOME", {"command": "echo $HOME", "user": WHO["id home"], "env": {"HOME": "/etc"}})
    w.follow("job as user in a directory", {"command": "pwd", "user": "user", "cwd": "/home/user"})
    w.follow("job as user where it may not be", {"command": "pwd; ls", "user": "user", "cwd": "/root"})
    w.call("version as user", "version", {"_run_as": "user"})
    w.call("version as nosuch", "version", {"_run_as": "nosuch"})
    w.call("editor by the old word", "text_editor", {"command": "view", "path": "/w/u/shut", "_run_as_user": "user"})
    shells(w)


def shells(w):
    for name, who in WHO.items():
        made = w.call(f"shell as {name}", "bash_session_new_session", {"user": who}, save="session")
        if None in made:
            continue
        w.say(f"shell as {name} says", "id; echo \"$HOME|$USER|$PWD\"; echo END$((1+1))\n", r"END2\n.*[#$] $|exited|sandbox-tools: .*\n")
        if name in ("user", "id user", "other"):
            w.say(f"terminal as {name}", "stat -c '%u %g %a' $(tty); stty size; echo END$((1+1))\n", r"END2\n.*[#$] $")
            w.call(f"sleep as {name}", "bash_session", {"session_name": "$session", "wait_for_output": 1, "idle_timeout": 0.2, "input": "sleep 100\n"})
            w.say(f"interrupt as {name}", "\u0003", r"[#$] $")
            w.call(f"restart as {name}", "bash_session", {"session_name": "$session", "restart": True})
            w.say(f"again as {name}", "id; echo END$((1+1))\n", r"END2\n.*[#$] $")
