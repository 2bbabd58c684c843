# SPDX-License-Identifier: MIT
"""What is a request, and what is none; through the command on both sides."""
import json

VERSION = '{"jsonrpc":"2.0","method":"version","id":%s}'
NO_REQUESTS = [
    "", " ", "\n", "junk", "{", "}", "[]", "[1]", '""', "5", "null", "true", "{}", "\ufeff{}", "nul",
    '[{"jsonrpc":"2.0","method":"version","id":1}]', '{"jsonrpc":"2.0"}', '{"method":"version"}',
    '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","method":"version","id":1}}',
    '{"jsonrpc":"2.0","method":"version","id":1} x', '{"jsonrpc":"2.0","method":"version",}',
    '{"jsonrpc":"1.0","method":"version","id":1}', '{"jsonrpc":2.0,"method":"version","id":1}',
    '{"jsonrpc":2,"method":"version","id":1}', '{"jsonrpc":null,"method":"version","id":1}',
    '{"jsonrpc":"2.0","method":5,"id":1}', '{"jsonrpc":"2.0","method":null,"id":1}',
    '{"jsonrpc":"2.0","method":["version"],"id":1}', '{"jsonrpc":"2.0","method":{},"id":1}',
    '{"jsonrpc":"2.0","method":"version","id":1,"params":5}',
    '{"jsonrpc":"2.0","method":"version","id":1,"params":"x"}',
    '{"jsonrpc":"2.0","method":"version","id":1,"params":true}',
    '{"jsonrpc":"2.0","method":"version","id":01}', '{"jsonrpc":"2.0","method":"version","id":+1}',
    '{"jsonrpc":"2.0","method":"version","id":.5}', '{"jsonrpc":"2.0","method":"version","id":1.}',
    "{'jsonrpc':'2.0','method':'version','id':1}", '{"jsonrpc":"2.0","method":"ver\tsion","id":1}',
    '{"jsonrpc":"2.0","method":"version\\x","id":1}', '{"jsonrpc":"2.0","method":"version","id":1',
    "/* */" + VERSION % 1, VERSION % 1 + VERSION % 2,
]
REQUESTS = [
    VERSION % 1, "  " + VERSION % 1 + " \n\n", "\t\r\n" + VERSION % 1, VERSION % 0, VERSION % -5,
    VERSION % "1.5", VERSION % "1e3", VERSION % "-0", VERSION % '""', VERSION % '"x"', VERSION % '"\\u00e9\\u20ac"',
    VERSION % '"\\ud83d\\ude00"', VERSION % '"é"', VERSION % "123456789012345678901234567890", VERSION % "null",
    VERSION % "true", VERSION % "false", VERSION % "[]", VERSION % "{}", VERSION % "[1]", VERSION % "9007199254740993",
    VERSION % '"a\\u0000b"', VERSION % '"a\\"b\\\\c"',
    '{"jsonrpc":"2.0","method":"version"}', '{"jsonrpc":"2.0","method":"nosuch"}',
    '{"jsonrpc":"2.0","method":"version","id":1,"id":2}', '{"jsonrpc":"2.0","method":"nosuch","method":"version","id":1}',
    '{"jsonrpc":"2.0","method":"version","id":1,"extra":1}', '{"jsonrpc":"2.0","method":"version","id":1,"params":null}',
    '{"jsonrpc":"2.0","method":"version","id":1,"params":[]}', '{"jsonrpc":"2.0","method":"version","id":1,"params":{}}',
    '{"jsonrpc":"2.0","method":"version","id":1,"params":[1]}', '{"jsonrpc":"2.0","method":"version","id":1,"params":{"a":1}}',
    '{"jsonrpc":"2.0","method":"remote_version","id":1,"params":[]}', '{"jsonrpc":"2.0","method":"remote_version","id":1,"params":[1]}',
    '{"jsonrpc":"2.0","method":"remote_version","id":1,"params":{"a":1}}', '{"jsonrpc":"2.0","method":"remote_version","id":1,"params":null}',
    '{"jsonrpc":"2.0","method":"remote_version","id":"x","extra":{}}', '{"jsonrpc":"2.0","method":"remote_version","id":true}',
    '{"jsonrpc":"2.0","method":"nosuch","id":1}', '{"jsonrpc":"2.0","method":"nosuch","id":"x","params":{"a":[1]}}',
    '{"jsonrpc":"2.0","method":"nosuch","id":null}', '{"jsonrpc":"2.0","method":"","id":1}', '{"jsonrpc":"2.0","method":"Version","id":1}',
    '{"jsonrpc":"2.0","method":" version","id":1}', '{"jsonrpc":"2.0","method":"versi\\u006fn","id":1}', '{"jsonrpc":"2.0","method":"rpc.discover","id":1}',
    '{"jsonrpc":"2.0","method":"nosuch","id":1,"params":[1,2]}', '{"jsonrpc":"2.0","method":"nosuch\\u0000","id":1}',
    '{"jsonrpc":"2.0","method":"\\u00e9","id":1}', '{"id":7,"method":"version","jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":"version","id":1e400}',
    '{"jsonrpc":"2.0","method":"version","id":1,"params":{"a":1e400}}', '{"jsonrpc":"2.0","method":"version","id":1,"params":{"a":12345678901234567890}}',
]
METHODS = [
    "text_editor", "bash_session", "bash_session_new_session", "exec_remote_start", "exec_remote_poll", "exec_remote_kill",
    "exec_remote_write_stdin", "exec_remote_close_stdin", "mcp_launch_server", "mcp_send_request", "mcp_send_notification",
    "mcp_kill_server", "sandbox_tools_shutdown",
]
# A value of each kind that JSON has, and some that are close to what is wanted.
VALUES = [None, True, 0, 1, -1, 1.0, 1.5, "", "1", "x", [], [1], ["x"], {}, {"a": 1}]
PARAMS = {
    "bash_session_new_session": {"user": None},
    "bash_session": {"session_name": "nosuch", "wait_for_output": 1, "idle_timeout": 0.1, "input": "x", "max_output_bytes": 5},
    "exec_remote_poll": {"pid": 1, "ack_seq": 0},
    "exec_remote_kill": {"pid": 1, "ack_seq": 0},
    "exec_remote_write_stdin": {"pid": 1, "ack_seq": 0, "data": "x"},
    "exec_remote_close_stdin": {"pid": 1, "ack_seq": 0},
    "mcp_send_request": {"session_id": 99, "request": {"jsonrpc": "2.0", "id": 1, "method": "x"}},
    "mcp_send_notification": {"session_id": 99, "notification": {"jsonrpc": "2.0", "method": "x"}},
    "mcp_kill_server": {"session_id": 99},
}


def run(w):
    for text in NO_REQUESTS:
        w.raw("no request " + repr(text), text)
    w.start()
    for text in REQUESTS:
        w.raw("request " + text, text)
    for method in METHODS:
        name = json.dumps({"jsonrpc": "2.0", "method": method, "id": 1})[:-1]
        if method != "sandbox_tools_shutdown":
            w.raw(f"{method} without params", name + "}")
            w.raw(f"{method} without members", name + ', "params": {}}')
        w.raw(f"{method} by position", name + ', "params": [1]}')
        w.raw(f"{method} with null params", name + ', "params": null}')
        if method != "bash_session_new_session":
            w.raw(f"{method} with another member", name + ', "params": {"another": 1}}')
    members(w)


def members(w):
    """Each member of each method with each value: all of these are refused, or find nothing."""
    for method, params in PARAMS.items():
        for member in params:
            for value in VALUES:
                if method == "bash_session_new_session" and value is None:
                    continue
                w.call(f"{method} {member}={json.dumps(value)}", method, {**params, member: value})
            if method != "bash_session_new_session":
                left = {k: v for k, v in params.items() if k != member}
                w.call(f"{method} no {member}", method, left)
        w.call(f"{method} one too many", method, {**params, "another": 1})
    for member in ("jsonrpc", "id", "method", "params", "another"):
        for value in VALUES:
            request = {"jsonrpc": "2.0", "id": 1, "method": "x", member: value}
            w.call(f"mcp request {member}={json.dumps(value)}", "mcp_send_request", {"session_id": 99, "request": request})
            if member != "id":
                w.call(f"mcp notification {member}={json.dumps(value)}", "mcp_send_notification",
                       {"session_id": 99, "notification": {k: v for k, v in request.items() if k != "id"}})
    for member in ("command", "args", "env", "cwd", "encoding", "encoding_error_handler", "another"):
        for value in VALUES:
            params = {"command": "/nosuch", member: value}
            if isinstance(value, str) and member == "encoding":
                continue
            w.call(f"mcp server {member}={json.dumps(value)}", "mcp_launch_server", {"server_params": params})
    for member in ("command", "input", "stdin_open", "env", "cwd", "user", "another"):
        for value in VALUES:
            params = {"command": "true", "cwd": "/nosuch", member: value}
            if member in ("cwd", "user") and (value is None or isinstance(value, str)):
                continue
            w.call(f"exec_remote_start {member}={json.dumps(value)}", "exec_remote_start", params)
