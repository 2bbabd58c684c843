# SPDX-License-Identifier: MIT
"""The server directory, and the life of a server."""
HOME = "/var/tmp/.da7be258e003d428"
VARIABLE = "INSPECT_SANDBOX_TOOLS_DIR"
LIST = "cd {} 2>/dev/null && stat -c '%n %F %a %u' . && for f in sandbox-tools.sock server.pid server-start.lock server-stderr.log server-stdout.log shutdown-status.json; do " \
       "stat -c '%n %F %a %u' $f 2>/dev/null; done | sed 's/ empty//; s/ socket [67]00/ socket that is private/'"


def plain(value):
    value = dict(value)
    value["stdout"] = bool(value["stdout"])
    return value


def given(w, name, make, path, who=None, look=None):
    """start-server with a directory that the variable names."""
    if make:
        w.prepare(make, user="root")
    env = {VARIABLE: path}
    w.command(f"{name}: start", ["start-server"], env=env, user=who, view=plain)
    w.look(f"{name}: directory", LIST.format(look or path))
    w.command(f"{name}: exec", ["exec", '{"jsonrpc":"2.0","method":"exec_remote_poll","id":1,"params":{"pid":5,"ack_seq":0}}'], env=env, user=who)
    w.command(f"{name}: stop", ["stop-server"], env=env, user=who)
    w.look(f"{name}: afterwards", LIST.format(look or path))


def run(w):
    keeper = w.sides[0].keeper
    w.command("stop before all", ["stop-server"])
    w.look("nothing yet", f"ls -A {HOME} | grep -v _internal")
    w.start()
    w.look("directory", LIST.format(HOME + "/.server"))
    w.look("beside it", f"ls -A {HOME} | grep -v _internal; stat -c %a {HOME}")
    w.command("stop", ["stop-server"])
    w.look("after the stop", LIST.format(HOME + "/.server"))
    w.look("status", f"cat {HOME}/.server/shutdown-status.json")
    w.command("stop again", ["stop-server"])
    w.look("after the second stop", LIST.format(HOME + "/.server"))
    own = f"chown {keeper} /w/"
    given(w, "new", None, "/w/new")
    given(w, "nested", None, "/w/nosuch/new")
    given(w, "own", f"mkdir -m 700 /w/own && {own}own", "/w/own")
    given(w, "open", f"mkdir -m 777 /w/open && {own}open", "/w/open")
    given(w, "readable", f"mkdir -m 755 /w/readable && {own}readable", "/w/readable")
    given(w, "narrow", f"mkdir -m 500 /w/narrow && {own}narrow", "/w/narrow")
    given(w, "of another", "mkdir -m 777 /w/another && chown 1001 /w/another", "/w/another")
    given(w, "a file", f"echo x >/w/file && {own}file", "/w/file")
    given(w, "a link", f"mkdir -m 700 /w/target && {own}target && ln -s target /w/link && chown -h {keeper} /w/link", "/w/link")
    given(w, "a link to nothing", "ln -s nowhere /w/broken", "/w/broken")
    given(w, "a link above", f"mkdir -m 700 /w/above && {own}above && ln -s above /w/way", "/w/way/server")
    given(w, "relative", None, "w/relative", look="/w/relative")
    given(w, "trailing slash", None, "/w/slash/")
    given(w, "long", None, "/w/" + "l" * 120)
    given(w, "empty", None, "", look=HOME + "/.server")
    given(w, "with a space", None, "/w/with space", look="'/w/with space'")
    for name, make in (("socket is a file", "echo x >D/sandbox-tools.sock"), ("socket is a link", "ln -s /etc/passwd D/sandbox-tools.sock"), ("pid is junk", "echo junk >D/server.pid"),
                       ("pid of another", "echo '{\"pid\": 1, \"created_at\": 1}' >D/server.pid"), ("status is there", "echo '{}' >D/shutdown-status.json"), ("log is a link", "ln -s /w/victim D/server-stderr.log"),
                       ("lock is a link", "ln -s /w/victim D/server-start.lock"), ("log is hard linked", "echo v >/w/hardvictim; chown K /w/hardvictim; ln /w/hardvictim D/server-stdout.log"), ("pid is a fifo", "mkfifo D/server.pid"),
                       ("lock is a directory", "mkdir D/server-start.lock"), ("foreign file", "echo x >D/other")):
        directory = "/w/p-" + name.replace(" ", "-")
        given(w, name, f"mkdir -m 700 {directory} && {make.replace('D/', directory + '/').replace('K', keeper)} && chown -hR {keeper} {directory}", directory)
    w.look("the victims", "ls -l /w/victim /w/hardvictim 2>/dev/null | cut -c1; head -n 1 /w/hardvictim; stat -c %F /etc/passwd")
    w.command("as another: start", ["start-server"], user="other", env={VARIABLE: "/w/others"}, view=lambda v: v["status"])
    w.command("environment of children", ["exec", '{"jsonrpc":"2.0","method":"exec_remote_start","id":1,"params":{"command":"env | grep -c SANDBOX_TOOLS_DIR"}}'],
              env={VARIABLE: "/w/env"}, view=lambda v: v["status"])
    w.command("environment: stop", ["stop-server"], env={VARIABLE: "/w/env"})


def lifecycle(w):
    w.command("healthcheck starts it", ["healthcheck"], view=plain)
    for i in range(3):
        w.call(f"job {i}", "exec_remote_start", {"command": "sleep 1000 & sleep 1000 & wait"}, save=f"job{i}")
    w.call("shell", "bash_session_new_session", {}, save="session")
    w.say("shell with a child", "sleep 1001 & echo END$((1+1))\n", "END2")
    w.call("ended job", "exec_remote_start", {"command": "sleep 1002 >/dev/null 2>&1 & exit 0"}, save="pid")
    w.end("ended job")
    w.call("mcp", "mcp_launch_server", {"server_params": {"command": "sh", "args": ["-c", "sleep 1003 & read x"]}}, save="mcp")
    w.call("retired mcp", "mcp_launch_server", {"server_params": {"command": "sh", "args": ["-c", "sleep 1004 & read x"]}}, save="mcp2")
    w.call("kill mcp", "mcp_kill_server", {"session_id": "$mcp2"})
    w.call("restart the shell", "bash_session", {"session_name": "$session", "restart": True})
    w.command("stop", ["stop-server"])
    w.look("nothing is left", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep 100[0-4]' | wc -l")
    w.look("status", f"cat {HOME}/.server/shutdown-status.json")
    w.call("a job of the old server", "exec_remote_poll", {"pid": "$job0", "ack_seq": 0})
    w.call("a new session counts from none", "bash_session_new_session", {}, save="session")
    w.call("and of mcp", "mcp_launch_server", {"server_params": {"command": "true"}}, save="mcp")
    w.call("shutdown by request", "sandbox_tools_shutdown", {}, user="root")
    w.until(f"! test -e {HOME}/.server/server.pid")
    w.look("it is gone", LIST.format(HOME + "/.server"))
    w.start()
    w.look("killed", f"kill -9 $(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/' {HOME}/.server/server.pid); sleep 0.5; ls {HOME}/.server | grep -c -e sock -e pid")
    w.command("start after a kill", ["start-server"], view=plain)
    w.look("after that", LIST.format(HOME + "/.server"))
    w.look("removed", f"mv {HOME}/.server /w/gone && rm -rf /w/gone; echo $?")
    w.command("start after a removal", ["start-server"], view=plain)
    # who makes the lock and the logs depends on who is there first
    w.look("after the removal", LIST.format(HOME + "/.server") + " | grep -v -e lock -e log")
    w.command("stop at last", ["stop-server"])
