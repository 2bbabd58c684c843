# SPDX-License-Identifier: MIT
"""MCP servers. One is a shell that keeps each line it reads in a file, and says what is in
another, so that the cases say every byte of it."""
import json

SAY = "while IFS= read -r line; do cat /w/say.$0; printf '%s\\n' \"$line\" >>/w/heard.$0; done"
HEAD = '{"jsonrpc":"2.0",'
NUMBERS = ["1", "-1", "0", "-0", "1.0", "7.0", "1e2", "1.5", "true", "false", "null", '"1"', '"7"', '"x"', '""', "[]", "{}", "9007199254740993", "12345678901234567890", "1E400"]


def launch_one(w, name, number=0, **params):
    w.write(f"/w/say.{number}", b"")
    w.call(name, "mcp_launch_server", {"server_params": {"command": "/bin/sh", "args": ["-c", SAY, str(number)], **params}}, save="mcp")


def ask(w, name, reply, ident=1, number=0, view=None, **request):
    """One request, which is answered by these bytes."""
    w.write(f"/w/say.{number}", reply if isinstance(reply, bytes) else reply.encode())
    w.call(name, "mcp_send_request", {"session_id": "$mcp", "request": {"jsonrpc": "2.0", "id": ident, "method": "m", **request}}, view=view)


def alone(w, name, reply, ident=1):
    """The same of a server of its own: what comes after the answer ends a session of theirs."""
    launch_one(w, name + ": launch", 1)
    ask(w, name, reply, ident, 1)
    w.call(name + ": kill", "mcp_kill_server", {"session_id": "$mcp"}, view=lambda v: v["status"])


GOOD = HEAD + '"id":1,"result":{"ok":true}}\n'


def run(w):
    w.start()
    launch_one(w, "launch")
    ask(w, "answer", GOOD)
    w.call("kill the first", "mcp_kill_server", {"session_id": "$mcp"})
    for i, line in enumerate((
            "", "\n", "   \n", "junk\n", "{}\n", "[]\n", "null\n", "5\n", '"x"\n', "{\n", HEAD + '"id":1}\n', HEAD + '"id":1,"result":5}\n', HEAD + '"id":1,"result":null}\n',
            HEAD + '"id":1,"result":[]}\n', HEAD + '"id":1,"result":"x"}\n', HEAD + '"id":1.0,"result":{}}\n', HEAD + '"id":true,"result":{}}\n',
            HEAD + '"id":null,"result":{}}\n', HEAD + '"result":{}}\n', '{"id":1,"result":{}}\n', '{"jsonrpc":"1.0","id":1,"result":{}}\n', HEAD + '"id":1,"error":5}\n',
            HEAD + '"id":1,"error":{}}\n', HEAD + '"id":1,"error":{"code":1}}\n', HEAD + '"id":1,"error":{"message":"x"}}\n', HEAD + '"id":1,"error":{"code":1,"message":5}}\n',
            HEAD + '"id":null,"error":{"code":1,"message":"x"}}\n', HEAD + '"method":"notifications/x"}\n', HEAD + '"id":1,"method":"ping"}\n',
            HEAD + '"id":9,"method":"sampling","params":{}}\n', HEAD + '"method":"x","params":[]}\n', "\ufeff\n", "garbage é\n", "\r\n", "\0\n", "[" + GOOD.strip() + "]\n")):
        alone(w, f"ignored {i} {line!r:.60}", line + GOOD)
    for number in NUMBERS:
        alone(w, f"code {number}", HEAD + f'"id":1,"error":{{"code":{number},"message":"m"}}}}\n' + GOOD)
    for ident in (1, 7, 100, 0, "1", "7", "x", "", "é", "a\"b", 2**53 + 1):
        for number in NUMBERS:
            end = HEAD + f'"id":{json.dumps(ident)},"error":{{"code":5,"message":"end"}}}}\n'
            # another request's id ends a session of theirs, so that the request fails
            if matches(ident, number):
                alone(w, f"error id {number} for {ident!r}", HEAD + f'"id":{number},"error":{{"code":-5,"message":"m"}}}}\n' + end, ident)
    alone(w, "depth 200", deep(200) + GOOD)
    launch_one(w, "launch for the rest")
    replies(w)
    requests(w)
    ends(w)


def matches(ident, number):
    try:
        value = json.loads(number)
    except ValueError:
        return False
    if isinstance(value, (list, dict)) or value is None:
        return True  # no message at all
    if isinstance(value, float):
        return not value.is_integer() or (isinstance(ident, int) and value == ident and abs(value) < 1e15)
    if isinstance(value, bool):
        return isinstance(ident, int) and int(value) == ident
    return type(value) is type(ident) and value == ident


def replies(w):
    for i, result in enumerate((
            '{}', '{"a":1}', '{"n":null}', '{"l":[1,2.5,-3e2,true,false,null]}', '{"s":"é€😀"}', '{"s":"\\u00e9\\ud83d\\ude00"}', '{"s":"\\n\\t\\u0000"}', '{"d":{"e":{"f":{}}}}',
            '{"n":12345678901234567890}', '{"n":123456789012345678901234567890}', '{"n":1.10}', '{"n":0.1}', '{"n":1e5}', '{"n":1e400}', '{"n":-0}', '{"n":1E+2}', '{"a":1,"a":2}', '{ "a" : [ 1 , 2 ] }',
            '{"s":"\\/"}', '{"s":"' + "x" * 5000 + '"}', '{"s":"' + "x" * 70000 + '"}', '{"l":' + json.dumps(list(range(2000))) + '}', '{"content":[{"type":"text","text":"hi"}],"isError":false}')):
        ask(w, f"result {i} {result:.40}", HEAD + f'"id":1,"result":{result}}}\n')
        ask(w, f"data {i} {result:.40}", HEAD + f'"id":1,"error":{{"code":-5,"message":"m","data":{result}}}}}\n')
    for i, text in enumerate((
            HEAD + '"id":1,"result":{},"extra":1}\n', HEAD + '"id":1,"error":{"code":1,"message":"x","extra":2},"more":[]}\n', HEAD + '"id":1,"result":{},"error":null}\n',
            '{"result":{},"id":1,"jsonrpc":"2.0"}\n', '  ' + GOOD, GOOD.strip() + "  \r\n", "\t" + GOOD, HEAD + '"id":1,"id":1,"result":{}}\n')):
        ask(w, f"shape {i}", text)
    for depth in (10, 100):
        ask(w, f"depth {depth}", deep(depth))


def deep(depth):
    return HEAD + '"id":1,"result":{"d":' + "[" * depth + "]" * depth + "}}\n"


def notify(w, name, method, params, **more):
    """One that the server has heard: then it has heard all before it, too."""
    w.write("/w/say.0", b"")  # an answer that nobody waits for ends a session of theirs
    w.call(name, "mcp_send_notification", {"session_id": "$mcp", "notification": {"jsonrpc": "2.0", "method": method, "params": params, **more}})
    w.until(f"grep -q {method} /w/heard.0")


def requests(w):
    notify(w, "notification before all", "start", None)
    w.prepare("rm -f /w/heard.*")
    for i, params in enumerate((
            None, {}, {"a": 1}, {"n": None}, {"l": [None, 1, 2.5, True]}, {"s": "é€😀\n\0"}, {"n": 12345678901234567890}, {"n": 2**63}, {"n": -2**63 - 1}, {"n": 10**40}, {"n": 1e300},
            {"n": 0.1}, {"d": {"e": {"f": [{}]}}}, {"s": "x" * 3000}, {"_meta": {"progressToken": 1}})):
        ask(w, f"params {i}", GOOD, params=params)
    for ident in (0, -1, 2**31, 2**53, 2**63 - 1, 2**63, 10**30, "", "x", "é", "1", "a b", "\n"):
        ask(w, f"id {ident!r}", HEAD + f'"id":{json.dumps(ident)},"result":{{}}}}\n', ident)
    ask(w, "extra members", GOOD, another=5, more=[1], none=None)
    for i, params in enumerate((None, {}, {"a": 2**64}, {"s": "é"})):
        notify(w, f"notification {i}", f"n{i}", params, id=i)
        ask(w, f"after notification {i}", GOOD)
    notify(w, "notification after all", "end", None)
    heard = []
    for side in w.sides:
        with open(side.root + "/w/heard.0", encoding="utf-8") as file:
            heard.append([json.loads(line) for line in file])
    for i, pair in enumerate(zip(*heard)):
        w.compare(f"heard {i}", pair)
    w.compare("heard all", [len(h) for h in heard])


def ends(w):
    w.call("kill", "mcp_kill_server", {"session_id": "$mcp"})
    w.call("kill again", "mcp_kill_server", {"session_id": "$mcp"})
    w.call("ask the dead", "mcp_send_request", {"session_id": "$mcp", "request": {"jsonrpc": "2.0", "id": 1, "method": "m"}})
    for name, script in (("exit", "read x; exit 3"), ("close", "read x; exec >&-; sleep 20"), ("crash", "read x; kill -9 $$"), ("half", "read x; printf '{\"jsonrpc\"'")):
        w.call(f"{name} launch", "mcp_launch_server", {"server_params": {"command": "sh", "args": ["-c", script]}}, save="mcp")
        w.call(f"{name} ask", "mcp_send_request", {"session_id": "$mcp", "request": {"jsonrpc": "2.0", "id": 1, "method": "m"}})
        w.call(f"{name} ask again", "mcp_send_request", {"session_id": "$mcp", "request": {"jsonrpc": "2.0", "id": 2, "method": "m"}})
        w.call(f"{name} kill", "mcp_kill_server", {"session_id": "$mcp"})
    for ident in (99, -1, 2**31, 2**63 - 1, 10**20):
        w.call(f"session {ident}", "mcp_send_request", {"session_id": ident, "request": {"jsonrpc": "2.0", "id": 1, "method": "m"}})
        w.call(f"note to {ident}", "mcp_send_notification", {"session_id": ident, "notification": {"jsonrpc": "2.0", "method": "m"}})
        w.call(f"kill of {ident}", "mcp_kill_server", {"session_id": ident})


def launch(w):
    """What a server is given."""
    w.start()
    number = 100
    for name, params in {
            "plain": {}, "env": {"env": {"A": "b c", "PATH": "/usr/bin:/bin"}}, "empty env": {"env": {}}, "null env": {"env": None}, "env HOME": {"env": {"HOME": "/w", "PATH": "/bin"}},
            "cwd": {"cwd": "/w"}, "null cwd": {"cwd": None}, "cwd and env": {"cwd": "/etc", "env": {"X": "1"}}, "another": {"another": 1}, "env é": {"env": {"A": "é"}},
            "env odd": {"env": {"a.b": "1", "C D": "2"}}, "env empty value": {"env": {"A": ""}}, "utf-8": {"encoding": "utf-8"}, "replace": {"encoding_error_handler": "replace"}}.items():
        for user in (None, "user", "other", {"uid": 1000, "gid": 1000, "groups": [1000, 2000], "home": None}, {"uid": 0, "gid": 0, "groups": [0], "home": "/x"}):
            number += 1
            script = f"id >/w/got.{number}; pwd >>/w/got.{number}; env | grep -v -e ^_ -e RESPONSE | sort >>/w/got.{number}; " \
                     f"cat /proc/self/oom_score_adj >>/w/got.{number}; grep -E '^(Cap(Eff|Inh)|SigIgn|NoNew)' /proc/self/status >>/w/got.{number}; umask >>/w/got.{number}; " \
                     f"cut -d' ' -f5,6 /proc/$$/stat | awk '{{print ($1 == '$$') ($2 == '$$')}}' >>/w/got.{number}; : >/w/done.{number}; echo '{HEAD}\"id\":1,\"result\":{{}}}}'; read x; read x"
            request = {"server_params": {"command": "/bin/sh", "args": ["-c", script], **params}}
            if user is not None:
                request["user"] = user
            if None not in w.call(f"{name} as {user}", "mcp_launch_server", request, save="mcp"):
                w.until(f"test -e /w/done.{number}")
            w.files(f"{name} as {user} got", f"/w/got.{number}")
            w.call(f"{name} as {user} killed", "mcp_kill_server", {"session_id": "$mcp"})
    for name, request in {
            "nosuch": {"command": "nosuch"}, "nosuch path": {"command": "/nosuch"}, "a directory": {"command": "/etc"}, "a file": {"command": "/etc/passwd"}, "empty": {"command": ""},
            "cwd nosuch": {"command": "true", "cwd": "/nosuch"}, "cwd file": {"command": "true", "cwd": "/etc/passwd"}, "PATH of env": {"command": "sh", "env": {"PATH": "/nosuch"}},
            "NUL": {"command": "a\0b"}, "NUL in args": {"command": "true", "args": ["a\0"]}, "NUL in env": {"command": "true", "env": {"A": "\0"}}, "= in env": {"command": "true", "env": {"A=": "x"}},
            "encoding nosuch": {"command": "/nosuch", "encoding": "utf-8"}, "relative": {"command": "./nosuch"}, "dir/": {"command": "bin/sh", "args": ["-c", "true"]}}.items():
        w.call(f"launch {name}", "mcp_launch_server", {"server_params": request}, save="mcp")
    for name, user in (("nosuch", "nosuch"), ("empty", ""), ("number", 5), ("uid only", {"uid": 1000}), ("list", ["user"]), ("extra", {"uid": 1, "gid": 1, "groups": [], "home": None, "x": 1}),
                       ("groups", {"uid": 1, "gid": 1, "groups": ["x"], "home": None})):
        w.call(f"user {name}", "mcp_launch_server", {"server_params": {"command": "true"}, "user": user}, save="mcp")


ENCODINGS = [
    "utf-8", "UTF-8", "utf8", "U8", "utf_8", "utf-8-sig", "ascii", "us-ascii", "646", "latin-1", "latin1", "iso-8859-1", "l1", "8859", "cp819", "cp1252", "windows-1252", "CP1252", "cp1250", "cp1251", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "iso-8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-10", "iso8859-11", "iso8859-13", "iso8859-14", "iso8859-15",
    "latin9", "iso8859-16", "koi8-r", "koi8-u", "koi8-t", "kz1048", "cp437", "cp720", "cp737", "cp775", "cp850", "cp852", "cp855", "cp856", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp865", "cp866",
    "cp869", "cp874", "cp1006", "cp1125", "mac-roman", "macintosh", "mac-cyrillic", "mac-greek", "mac-turkish", "mac-iceland", "mac-latin2", "hp-roman8", "tis-620", "ptcp154", "palmos", "mac-croatian", "mac-romanian",
]
OTHERS = ["cp864", "utf-16-be", "utf-32-be", "gbk", "gb18030", "gb2312", "big5", "big5hkscs", "shift_jis", "euc-jp", "iso2022-jp", "euc-kr", "cp949", "cp932", "johab", "utf-7", "utf-16", "utf-16-le", "utf-32",
          "hex", "rot13", "base64", "nosuch", "", "utf-9", "é", "a b"]


def encodings(w):
    """What servers say in other encodings: every byte above those of ASCII."""
    w.start()
    for encoding in ENCODINGS:
        every = bytes(range(0x80, 0x100))
        for handler in ("strict", "ignore", "replace"):
            launch_one(w, f"launch {encoding} {handler}", encoding=encoding, encoding_error_handler=handler)
            line = (HEAD + '"id":1,"result":{"s":"').encode() + every + b'"}}\n'
            ask(w, f"{encoding} {handler}", line)
            ask(w, f"{encoding} {handler} again", GOOD)
            w.call(f"kill {encoding} {handler}", "mcp_kill_server", {"session_id": "$mcp"})
    for encoding in OTHERS:
        launch_one(w, f"other {encoding}", encoding=encoding)
        if not encoding.startswith(("utf-16", "utf-32")):  # of theirs, it would wait for the end of a line
            ask(w, f"other {encoding} answers", GOOD)
