#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Both ends of model_proxy: the clients that ask it, and the host that answers by files.

model_proxy.py talk SERVICE PORT        says every case below, one after the other, and prints what
                                        came back, and what the host saw; see model_proxy.expected
model_proxy.py talk SERVICE PORT NAME…  only these
model_proxy.py WHAT SERVICE PORT …      one of the trials at the end; prints a line of words

SERVICE is the directory with requests/ and responses/. In what is printed, a carriage return is
"\\r", and dates and random ids are masked.
"""
import json
import os
import re
import socket
import struct
import sys
import threading
import time

JSON = "application/json"


# ---- the host ----


class Host:
    def __init__(self, service):
        self.requests = os.path.join(service, "requests")
        self.responses = os.path.join(service, "responses")
        self.seen = set()

    def waiting(self):
        """Ids of the requests that have not been taken, in no order."""
        names = [n[:-5] for n in os.listdir(self.requests) if n.endswith(".json")]
        return [n for n in names if n not in self.seen]

    def take(self, seconds=20):
        """The next request, as it was read: (id, text), or None."""
        end = time.time() + seconds
        while time.time() < end:
            for name in self.waiting():
                path = os.path.join(self.requests, name + ".json")
                with open(path, encoding="ascii") as file:
                    text = file.read()
                if text.endswith("}}"):
                    self.seen.add(name)
                    return name, text
            time.sleep(0.002)
        return None

    def answer(self, name, text, pieces=1):
        """Writes a response as tee does, if need be in pieces, and removes the request."""
        with open(os.path.join(self.responses, name + ".json"), "w", encoding="utf-8") as file:
            step = len(text) // pieces + 1
            for at in range(0, len(text), step):
                file.write(text[at : at + step])
                file.flush()
                if pieces > 1:
                    time.sleep(0.15)
        os.unlink(os.path.join(self.requests, name + ".json"))

    def left(self):
        return len(os.listdir(self.requests)) + len(os.listdir(self.responses))


# ---- clients ----


def connect(port):
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    return sock


def read_all(sock):
    pieces = []
    while True:
        try:
            piece = sock.recv(1 << 20)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def http(method, path, body=b"", *fields, type=JSON, version="HTTP/1.1"):
    if isinstance(body, (dict, list)):
        body = json.dumps(body, ensure_ascii=False).encode()
    elif isinstance(body, str):
        body = body.encode()
    lines = [f"{method} {path} {version}", "Host: localhost"]
    if type is not None:
        lines.append(f"Content-Type: {type}")
    lines += fields
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def post(path, body, *fields, **keys):
    return http("POST", path, body, *fields, **keys)


def visible(data):
    text = data.decode("utf-8", "backslashreplace").replace("\r", "\\r")
    text = re.sub(r"(?m)^Date: .*\\r$", r"Date: D\\r", text)
    return re.sub(r"msg_[0-9a-f]{24}", "msg_ID", text)


# ---- cases: name, request, the host's response (None: it is not asked) ----

CASES = []


def case(name, request, response=None, **keys):
    CASES.append((name, request, response, keys))


def result(value):
    return {"result": value, "error": None}


def error(text):
    return {"result": None, "error": text}


RESPONSES, CHAT, MESSAGES = "/v1/responses", "/v1/chat/completions", "/v1/messages"
GOOGLE = "/v1beta/models/gem:generateContent"
GOOGLE_STREAM = "/v1beta/models/gem:streamGenerateContent?alt=sse"
ASK = {
    RESPONSES: {"model": "m", "input": "x"},
    CHAT: {"model": "m", "messages": []},
    MESSAGES: {"model": "m", "messages": []},
    GOOGLE: {"contents": []},
    GOOGLE_STREAM: {"contents": []},
}
STREAM = {path: dict(body, stream=True) for path, body in ASK.items()}
STREAM[GOOGLE_STREAM] = ASK[GOOGLE_STREAM]
STREAM[CHAT]["stream_options"] = {"include_usage": True}

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "S" * 50}],
            "content": [{"type": "reasoning_text", "text": "R"}],
        },
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "T" * 49, "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c",
            "name": "f",
            "arguments": '{"' + "a" * 33 + '":1}',
            "status": "completed",
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "file_search_call", "id": "fs"},
        {"type": "image_generation_call", "id": "ig"},
        {"type": "code_interpreter_call", "id": "ci", "code": "x=1"},
        {"type": "mcp_call", "id": "mc", "arguments": "{}", "error": "bad"},
        {"type": "mcp_list_tools", "id": "ml"},
        {"type": "custom_tool_call", "call_id": "cc", "name": "n", "input": "in"},
        {"type": "computer_call", "id": "cp", "status": "completed"},
        {"type": "unknown_item"},
    ],
    "usage": {},
}
ODD_RESPONSE = {
    "status": "incomplete",
    "output": [
        {"type": "message", "id": None, "content": [{"type": "output_text", "text": ""}]},
        {"type": "message", "id": 5, "content": [{"type": "weird", "text": "w"}]},
        {"type": "function_call", "id": "f", "arguments": "", "status": None},
        {"type": "code_interpreter_call", "id": "c", "code": ""},
        {"type": "mcp_call", "id": "m", "arguments": "é漢😀" * 20, "error": None},
        {"type": "mcp_list_tools", "id": "l", "error": {"a": 1}},
        {"type": "custom_tool_call", "id": "u", "input": "", "status": "x"},
        {"type": "reasoning", "id": "r", "summary": [{"type": "other"}, {"type": "summary_text", "text": ""}]},
        {"type": "reasoning", "id": "r", "content": [{"type": "other"}], "status": "s"},
    ],
}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m",
    "system_fingerprint": "fp",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "A" * 50 + "é漢",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
ODD_COMPLETION = {
    "id": "x",
    "created": 1,
    "model": "m",
    "system_fingerprint": None,
    "choices": [
        {"index": 7, "finish_reason": "stop", "message": {"content": "\ud83d\ude00\u0001\"\\\n\x7f" * 13}},
        {
            "index": 9,
            "finish_reason": "function_call",
            "message": {"role": "r", "content": None, "function_call": {"name": "n", "arguments": "{" + "b" * 60}},
        },
    ],
    "usage": None,
}
MESSAGE = {
    "id": "msg_x",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "T" * 50 + "é"},
        {"type": "tool_use", "id": "tu", "name": "n", "input": {"a": "é", "b": [1, 2]}},
        {"type": "server_tool_use", "id": "su", "name": "ws", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "su", "content": []},
        {"type": "compaction", "content": "C"},
        {"type": "fallback", "from_": "a", "to": "b"},
        {"type": "redacted_thinking", "data": "x"},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 7, "cache_creation_input_tokens": None, "cache_read_input_tokens": 0},
}
ODD_MESSAGE = {
    "stop_reason": "end_turn",
    "stop_sequence": "x",
    "content": [
        {"type": "text", "text": ""},
        {"type": "text", "text": "漢字" * 49},
        {"type": "thinking", "thinking": "t" * 97, "signature": ""},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"s": 'q"\\\n\u0001é😀' * 9, "n": 1.0, "e": []}},
        {"type": "compaction", "content": [{"a": 1}]},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "mcp_tool_use", "id": "m"},
    ],
    "usage": {"output_tokens": 0, "server_tool_use": {"web_search_requests": 1}, "other": 1},
}
CANDIDATES = {"candidates": [{"content": {"parts": [{"text": "é"}], "role": "model"}}]}
ANSWERS = {RESPONSES: RESPONSE, CHAT: COMPLETION, MESSAGES: MESSAGE, GOOGLE: CANDIDATES, GOOGLE_STREAM: CANDIDATES}


def add_general_cases():
    for method in "GET", "HEAD", "PUT", "DELETE", "PATCH", "FOO":
        case(f"{method} /v1/models", http(method, "/v1/models", type=None))
    case("OPTIONS", http("OPTIONS", "/v1/models", type=None))
    case("GET /", http("GET", "/", type=None))
    case("GET /v1/responses", http("GET", RESPONSES, type=None))
    case("text/plain", post(RESPONSES, ASK[RESPONSES], type="text/plain"))
    case("no content type", post(RESPONSES, ASK[RESPONSES], type=None))
    case("unknown path", post("/nope", {}))
    case("unknown path, text/plain", post("/nope", {}, type="text/plain"))
    case("path that is not ASCII", post("/a%C3%A9%FF%22%5C%0a%7f", {}))
    case("array", post(RESPONSES, []))
    case("bad JSON", post(RESPONSES, "{"))
    case("JSON and more", post(RESPONSES, "{} x"))
    case("integer that is too long", post(RESPONSES, '{"model": "m", "input": [{"n": %s}]}' % ("1" * 4301)))
    case("nested too deep", post(RESPONSES, '{"model": "m", "input": %s}' % ("[" * 995 + "]" * 995)))
    case("bytes that are not UTF-8", post(RESPONSES, b'{"model": "m\xff", "input": ""}'))
    case("empty body", post(RESPONSES, b""))
    case("APPLICATION/JSON", post(RESPONSES, {}, type="APPLICATION/JSON"))
    case("application/jsonx", post(RESPONSES, {}, type="application/jsonx"))
    case("with a charset", post(RESPONSES, {}, type="application/json; charset=utf-8"))


def add_missing_cases():
    for path, member in (RESPONSES, "input"), (CHAT, "messages"), (MESSAGES, "messages"):
        case(f"{path}: no model", post(path, {member: "x"}))
        case(f"{path}: blank model", post(path, {"model": " \t\u3000", member: "x"}))
        case(f"{path}: model is a number", post(path, {"model": 5, member: "x"}))
        case(f"{path}: no {member}", post(path, {"model": "m"}))
        case(f"{path}: {member} is null", post(path, {"model": "m", member: None}))
        case(f"{path}: {member} is empty", post(path, {"model": "m", member: ""}), result(ANSWERS[path]))
    case("google: no model", post("/v1beta/models/:generateContent", {}))
    case("google: no model either", post("/models//x", {}))


def add_plain_cases():
    for path in ASK:
        case(f"{path}: plain", post(path, ASK[path]), result(ANSWERS[path]))
    case(
        "body and headers as they came",
        post(
            RESPONSES,
            '{"model": "m", "input":"x","\u00e9": "\u6f22\\ud83d\\ude00\\u00e9\\/\\u0000\\ud800\u007f", "n": 12345678901234567890,\n'
            ' "f":1.0,"t":[true ,false,null,[ ],{ }], "-":-0.5}',
            "X-Foo:  1 ",
            "x-Latin: \u00e9\u00ff",
            "Authorization: Bearer k",
            "Accept-Encoding: gzip",
            "no colon in this line",
            "x-empty:",
        ),
        result(RESPONSE),
    )
    case("with a query", post(RESPONSES + "?a=b&c#d", ASK[RESPONSES]), result(RESPONSE))
    case("with an escaped path", post("/v1/%72esponses", ASK[RESPONSES]), result(RESPONSE))
    case("with a slash behind", post(RESPONSES + "/", ASK[RESPONSES]))
    case("with an absolute target", post("http://x:1/v1/responses?y", ASK[RESPONSES]), result(RESPONSE))
    case("parallel_tool_calls", post(CHAT, '{"model": "m", "parallel_tool_calls": true, "messages": []}'), result(COMPLETION))
    case("messages, beta", post(MESSAGES + "?beta=true", ASK[MESSAGES]), result(MESSAGE))
    case("count_tokens", post(MESSAGES + "/count_tokens", ASK[MESSAGES]))
    case("google: other prefix", post("/models/gemini-2.5-pro:generateContent", {"contents": [], "model": "x", "z": 1}), result(CANDIDATES))
    case("google: countTokens", post("/v1beta/models/gem:countTokens", {}), result(CANDIDATES))
    case("google: v1", post("/v1/models/gem:generateContent", {}))
    case("google: escaped model", post("/models/a%22%C3%A9%3Ab:generateContent", {}), result(CANDIDATES))


def add_result_cases():
    for path in ASK:
        case(f"{path}: a string", post(path, ASK[path]), result(json.dumps(ANSWERS[path])))
    for path in RESPONSES, CHAT, MESSAGES:
        case(f"{path}: a string that is not JSON", post(path, ASK[path]), result("not json é"))
        case(f"{path}: null", post(path, ASK[path]), result(None))
        case(f"{path}: a list", post(path, ASK[path]), result([1, {"a": 1.50}]), ours=True)
    case("result with odd characters", post(CHAT, ASK[CHAT]), '{"result": {"\\u00e9": "\u007f\\/\\ud83d\\ude00 \u2028", "b":123456789012345678901234567890}}')
    case("numbers as they were written", post(CHAT, ASK[CHAT]), '{"result": {"n": [1e5, 1.10, -0, 1E400, NaN, -Infinity]}}', ours=True)


def add_stream_cases():
    for path in STREAM:
        case(f"{path}: stream", post(path, STREAM[path]), result(ANSWERS[path]))
        case(f"{path}: stream of a string", post(path, STREAM[path]), result(json.dumps(ANSWERS[path])))
    case("stream is 1", post(RESPONSES, dict(ASK[RESPONSES], stream=1)), result(ODD_RESPONSE))
    case("stream is 0", post(RESPONSES, dict(ASK[RESPONSES], stream=0)), result({}))
    case("stream is null", post(RESPONSES, dict(ASK[RESPONSES], stream=None)), result({}))
    case("no usage is wanted", post(CHAT, dict(ASK[CHAT], stream=True)), result(COMPLETION))
    case("odd completion", post(CHAT, STREAM[CHAT]), result(ODD_COMPLETION))
    case("odd message", post(MESSAGES, STREAM[MESSAGES]), result(ODD_MESSAGE))
    case("empty response", post(RESPONSES, STREAM[RESPONSES]), result({"output": []}))
    case("empty completion", post(CHAT, STREAM[CHAT]), result(dict(COMPLETION, choices=[])))
    case("empty message", post(MESSAGES, STREAM[MESSAGES]), result({"content": [], "usage": {}}))
    case("half a pair in a stream", post(CHAT, STREAM[CHAT]), result(dict(COMPLETION, id="\ud800")), ours=True)
    case("messages: not JSON in a stream", post(MESSAGES, STREAM[MESSAGES]), result("not json"), ours=True)
    case("messages: null in a stream", post(MESSAGES, STREAM[MESSAGES]), result(None), ours=True)
    case("messages: failure in a stream", post(MESSAGES, STREAM[MESSAGES]), error("host exploded é"), ours=True)
    case("chat: not JSON in a stream", post(CHAT, STREAM[CHAT]), result("not json"), ours=True)
    case("responses: null in a stream", post(RESPONSES, STREAM[RESPONSES]), result(None), ours=True)


def add_error_cases():
    def provider(**members):
        return result({"__inspect_provider_error__": members})

    statuses = 400, 401, 402, 403, 404, 409, 413, 418, 422, 429, 451, 499, 500, 503, 504, 505, 529, 599
    for path in RESPONSES, CHAT, MESSAGES, GOOGLE:
        for status in statuses:
            case(f"{path}: error {status}", post(path, ASK[path]), provider(status=status, message="said é"))
        case(f"{path}: error null", post(path, ASK[path]), provider(status=None, message="said é"))
        case(f"{path}: error 0", post(path, ASK[path]), provider(status=0))
        case(
            f"{path}: error with a body",
            post(path, ASK[path]),
            provider(status=401, message="m", body={"code": "insufficient_quota", "type": "q", "extra": [1.0]}),
        )
    for path in STREAM:
        case(f"{path}: error in a stream", post(path, STREAM[path]), provider(status=429, message="said é"))


def add_mcp_cases():
    def mcp(method, id=2, path="/mcp/srv", **members):
        return post(path, dict({"jsonrpc": "2.0", "id": id, "method": method}, **members))

    tools = [{"name": "t", "description": "dé", "inputSchema": {"type": "object"}}]
    call = {"name": "t", "arguments": {"a": 1, "n": 12345678901234567890}}
    case("mcp: GET", http("GET", "/mcp/srv", type=None))
    case("mcp: initialize", mcp("initialize", 0, params={"protocolVersion": "2025-06-18"}))
    case("mcp: initialized", post("/mcp/srv", {"jsonrpc": "2.0", "method": "notifications/initialized"}))
    case("mcp: list", mcp("tools/list", "aé"), result(tools))
    case("mcp: list, longer path", mcp("tools/list", None, "/mcp/s%22/x/y"), result(tools))
    case("mcp: list, no server", mcp("tools/list", path="/mcp/"), result(tools))
    case("mcp: list fails", mcp("tools/list"), error("nope"))
    case("mcp: call", mcp("tools/call", params=call), result("tool-result é"))
    case("mcp: call, no arguments", mcp("tools/call", params={"name": "t"}), result(""))
    case("mcp: a list", mcp("tools/call", params=call), result([{"type": "text", "text": "a"}, {"type": "image", "data": "x", "mimeType": "image/png"}]))
    case("mcp: an object", mcp("tools/call", params=call), result({"a": 1}))
    case("mcp: a number", mcp("tools/call", params=call), result(5))
    case("mcp: null", mcp("tools/call", params=call), result(None))
    case("mcp: call fails", mcp("tools/call", params=call), error("Error calling method call_tool: nope"))
    case("mcp: neither", mcp("tools/call", params=call), {})
    case("mcp: no name", mcp("tools/call", params={}))
    case("mcp: empty name", mcp("tools/call", params={"name": ""}))
    case("mcp: no params", mcp("tools/call"))
    case("mcp: params are null", mcp("tools/call", params=None))
    case("mcp: params are a list", mcp("tools/call", params=[]))
    case("mcp: other", mcp("ping"))
    case("mcp: other, a number", mcp(5))
    case("mcp: other notification", post("/mcp/srv", {"jsonrpc": "2.0", "method": "notifications/cancelled"}))
    case("mcp: no method", post("/mcp/srv", {}))
    case("mcp: batch", post("/mcp/srv", []))
    case("mcp: DELETE", http("DELETE", "/mcp/srv", type=None))
    case("mcp: long id", mcp("tools/list", "\x7f" * 1022), result([]), ours=True)
    case("mcp: id that is too long", mcp("tools/list", "x" * 1023), ours=True)
    case("mcp: no path", mcp("ping", path="/mcp"))


def add_http_cases():
    body = b'{"model": "m", "input": "x"}'
    chunked = http("POST", RESPONSES, b"", "Transfer-Encoding: chunked", type=JSON).replace(b"Content-Length: 0\r\n", b"")
    case("chunked", chunked + b"A;x=y\r\n" + body[:10] + b"\r\n" + b"%x\r\n" % (len(body) - 10) + body[10:] + b"\r\n0\r\nTrailer: 1\r\n\r\n", result(RESPONSE))
    case("chunked, bad size", chunked + b"xyz\r\n")
    case("chunked, bad end", chunked + b"1\r\nabc\r\n0\r\n\r\n", ours=True)
    case("chunked, cut", chunked + b"5\r\nab", ours=True, end=True)
    case("chunked, huge size", chunked + b"ffffffffffffffffffff\r\n", ours=True)
    case("expect", post(RESPONSES, body, "Expect: 100-Continue"), result(RESPONSE))
    case("repeated host", http("POST", RESPONSES, body, "HOST: b"))
    case("repeated field", http("POST", RESPONSES, body, "x-a: 1", "X-B: b", "X-A: 2"), result(RESPONSE))
    case("bad request line", b"GET /\r\n\r\n")
    case("request line with four words", b"GET / a HTTP/1.1\r\n\r\n")
    case("blank request line", b"\r\n\r\n")
    case("request line that is not ASCII", b"GET /\xc3\xa9 HTTP/1.1\r\n\r\n")
    case("HTTP/1.0", http("GET", "/x", version="HTTP/1.0"))
    case("lower case method", http("post", RESPONSES))
    case("no fields", b"GET /x HTTP/1.1\r\n\r\n", ours=True)
    case("bad length", b"POST /x HTTP/1.1\r\nContent-Length: abc\r\n\r\n")
    case("negative length", post(RESPONSES, b"").replace(b"Length: 0", b"Length: -5"))
    case("body too large", b"POST /x HTTP/1.1\r\nContent-Length: 52428801\r\n\r\n")
    case("long line", b"GET /x HTTP/1.1\r\na: " + b"b" * 70000 + b"\r\n\r\n", ours=True)
    case("long head", b"GET /x HTTP/1.1\r\n" + b"".join(b"a%d: %s\r\n" % (i, b"b" * 1000) for i in range(70)) + b"\r\n")
    case("many fields", b"GET /x HTTP/1.1\r\n" + b"".join(b"a%d:\r\n" % i for i in range(1200)) + b"\r\n", ours=True)
    case("nothing", b"", end=True)
    case("head without an end", b"GET /x HTTP/1.1\r\na: b", end=True)
    case("short body", post(RESPONSES, b"ab").replace(b"Length: 2", b"Length: 50"), end=True)
    case("LF only", b"GET /x HTTP/1.1\nHost: x\n\n")
    case("pipelined", http("GET", "/a", type=None) + http("GET", "/b", type=None))
    case("half closed", post(RESPONSES, ASK[RESPONSES]), result({}), end=True)


for add in (
    add_general_cases,
    add_missing_cases,
    add_plain_cases,
    add_result_cases,
    add_stream_cases,
    add_error_cases,
    add_mcp_cases,
    add_http_cases,
):
    add()


def show_request(text):
    request = json.loads(text)
    known = re.fullmatch(r'\{"id": "[0-9a-f-]{36}", "method": (.*), "params": (\{.*\})\}', text)
    print("host:", f"{known[1]} {known[2]}" if known else f"? {text}")
    assert list(request) == ["id", "method", "params"]


def say(host, port, name, request, response, keys):
    sock = connect(port)
    print(f"=== {name}")
    try:
        sock.sendall(request)
        if keys.get("end"):
            sock.shutdown(socket.SHUT_WR)
    except (ConnectionResetError, BrokenPipeError):
        pass
    if response is not None:
        taken = host.take()
        if taken:
            show_request(taken[1])
            text = response if isinstance(response, str) else json.dumps(dict(response, id=taken[0]))
            host.answer(taken[0], text)
    print(visible(read_all(sock)))
    sys.stdout.flush()
    sock.close()


def talk(service, port, *names):
    """With --same only those cases that are the same with the reference."""
    host = Host(service)
    same = "--same" in names
    names = [n for n in names if n != "--same"]
    for name, request, response, keys in CASES:
        if (not names or name in names) and not (same and keys.get("ours")):
            say(host, port, name, request, response, keys)


# ---- trials ----


def body_of(reply):
    head, _, body = reply.partition(b"\r\n\r\n")
    if b"Transfer-Encoding: chunked" not in head:
        return body
    pieces, at = [], 0
    while True:
        end = body.index(b"\r\n", at)
        length = int(body[at:end], 16)
        if length == 0:
            assert body[at:] == b"0\r\n\r\n", body[at : at + 100]
            return b"".join(pieces)
        at = end + 2 + length
        pieces.append(body[end + 2 : at])
        assert body[at : at + 2] == b"\r\n"
        at += 2


def events_of(reply):
    """The data of each event, loaded."""
    events = []
    for block in body_of(reply).decode().split("\n\n")[:-1]:
        data = block.split("data: ", 1)[1]
        events.append(data if data == "[DONE]" else json.loads(data))
    return events


def texts_of(path, events):
    """What the deltas of a stream say, put together."""
    if path == CHAT:
        return "".join(e["choices"][0]["delta"].get("content", "") for e in events[:-1] if e["choices"])
    if path == RESPONSES:
        return "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
    return "".join(e["delta"].get("text", "") for e in events if e["type"] == "content_block_delta")


def saying(path, text):
    """A result with that text in it."""
    return {
        CHAT: {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]},
        RESPONSES: {"output": [{"type": "message", "id": "i", "content": [{"type": "output_text", "text": text}]}]},
        MESSAGES: {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {}},
    }[path]


def ask(port, request):
    sock = connect(port)
    sock.sendall(request)
    return sock


def answer_next(host, response):
    name, _ = host.take()
    host.answer(name, json.dumps(response))


def alive(host, port):
    sock = ask(port, post(CHAT, ASK[CHAT]))
    answer_next(host, result({"fine": True}))
    return body_of(read_all(sock)) == b'{"fine": true}'


def trial_many(service, port, count):
    """That many requests at once, answered from the last to the first."""
    host, count = Host(service), int(count)
    socks = []
    for i in range(count):
        path = (CHAT, MESSAGES, RESPONSES)[i % 3]
        ask_for = (STREAM if i % 2 else ASK)[path]
        socks.append((path, i, ask(port, post(path, dict(ask_for, model=f"m{i}")))))
    taken = [host.take() for _ in socks]
    taken.reverse()
    for name, text in taken:
        request = json.loads(text)
        path = {"completions": CHAT, "anthropic": MESSAGES, "responses": RESPONSES}[request["method"][9:]]
        host.answer(name, json.dumps(result(saying(path, request["params"]["json_data"]["model"] * 100))))
    right = 0
    for path, i, sock in socks:
        reply = read_all(sock)
        wanted = f"m{i}" * 100
        if i % 2:
            right += texts_of(path, events_of(reply)) == wanted
        else:
            right += json.loads(body_of(reply)) == saying(path, wanted)
        sock.close()
    print(right, "right,", host.left(), "files left")


def trial_large(service, port, megabytes):
    """A prompt and a reply of that size, each way; and what the longest took."""
    host, text = Host(service), "a\u00e9\u6f22\"\\\n" * (int(megabytes) * 100000)
    longest = 0
    for path in CHAT, RESPONSES, MESSAGES:
        for body in ASK[path], STREAM[path]:
            began = time.time()
            sock = ask(port, post(path, dict(body, prompt=text)))
            name, request = host.take(60)
            assert json.loads(request)["params"]["json_data"]["prompt"] == text
            response = json.dumps(result(saying(path, text)))
            threading.Thread(target=host.answer, args=(name, response)).start()
            reply = read_all(sock)
            longest = max(longest, time.time() - began)
            if body is STREAM[path]:
                assert texts_of(path, events_of(reply)) == text, path
            else:
                assert json.loads(body_of(reply)) == saying(path, text), path
    print("all right")
    print(f"{longest:.1f} s", file=sys.stderr)


def trial_slow_host(service, port):
    """Responses that are empty at first, or come in pieces."""
    host = Host(service)
    sock = ask(port, post(CHAT, ASK[CHAT]))
    name, _ = host.take()
    host.answer(name, json.dumps(result(saying(CHAT, "x" * 1000))), pieces=4)
    first = json.loads(body_of(read_all(sock))) == saying(CHAT, "x" * 1000)
    sock = ask(port, post(CHAT, ASK[CHAT]))
    name, _ = host.take()
    path = os.path.join(host.responses, name + ".json")
    open(path, "w").close()
    time.sleep(0.3)
    with open(path, "w") as file:
        file.write('{"result": ')
    time.sleep(0.3)
    os.rename(path, path + ".aside")
    time.sleep(0.2)
    with open(path, "w") as file:
        file.write('{"result": "late"}')
    os.unlink(path + ".aside")
    os.unlink(os.path.join(host.requests, name + ".json"))
    print(first, body_of(read_all(sock)).decode(), host.left())


def trial_pings(service, port):
    """Events of a stream whose host takes its time."""
    host = Host(service)
    sock = ask(port, post(MESSAGES, STREAM[MESSAGES]))
    name, _ = host.take()
    time.sleep(6)
    host.answer(name, json.dumps(result({"content": [], "usage": {}})))
    print(*(e["type"] for e in events_of(read_all(sock))))


def trial_gone(service, port):
    """Clients that go away while the host works, in three ways; what is left when it has answered."""
    host = Host(service)
    socks = [ask(port, post(p, b)) for p, b in ((CHAT, ASK[CHAT]), (MESSAGES, STREAM[MESSAGES]), (CHAT, ASK[CHAT]))]
    taken = [host.take() for _ in socks]
    socks[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socks[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for sock in socks:
        sock.close()
    time.sleep(0.3)
    for name, _ in taken:
        host.answer(name, json.dumps(result(MESSAGE)))
    end = time.time() + 10
    while host.left() and time.time() < end:
        time.sleep(0.05)
    print(host.left(), alive(host, port))


def trial_closed(service, port, count):
    """That many clients, more than there is room for, ask and close while the host works; then another one."""
    host, count = Host(service), int(count)
    for _ in range(count):
        ask(port, post(CHAT, ASK[CHAT])).close()
    reply = read_all(ask(port, http("GET", "/x")))
    while len(host.waiting()) < count:
        time.sleep(0.01)
    for name in host.waiting():
        host.answer(name, '{"result": null}')
    end = time.time() + 60
    while host.left() and time.time() < end:
        time.sleep(0.05)
    print(reply[9:12].decode(), host.left())


def trial_silent(service, port, count):
    """That many clients, more than there is room for, that begin to ask and do not go on; then another one."""
    silent = [ask(port, b"P") for _ in range(int(count))]
    print(read_all(ask(port, http("GET", "/x")))[9:12].decode(), len(silent))


def trial_lost(service, port, count):
    """That many requests whose clients go away, one that is then too many, and what is left in the end."""
    host, count = Host(service), int(count)
    for done in range(0, count, 128):
        socks = [ask(port, post(CHAT, ASK[CHAT])) for _ in range(min(128, count - done))]
        while len(host.waiting()) < done + len(socks):
            time.sleep(0.002)
        for sock in socks:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
    reply = read_all(ask(port, post(CHAT, ASK[CHAT])))
    for name in host.waiting():
        host.answer(name, '{"result": null}')
    end = time.time() + 60
    while host.left() and time.time() < end:
        time.sleep(0.05)
    print(reply[9:12].decode(), body_of(reply).decode(), host.left(), alive(host, port))


def trial_deaf(service, port, count):
    """Clients that read nothing of long streams, until stdin ends; others are served meanwhile."""
    host = Host(service)
    socks = []
    for _ in range(int(count)):
        socks.append(ask(port, post(CHAT, STREAM[CHAT])))
        answer_next(host, result(saying(CHAT, "x" * 5000000)))
    time.sleep(1)
    print("fine" if alive(host, port) else "not served")
    sys.stdout.flush()
    sys.stdin.read()
    print(sum(texts_of(CHAT, events_of(read_all(s))) == "x" * 5000000 for s in socks), "right")


def trial_half(service, port, count):
    """Large requests that never end, many at once."""
    host = Host(service)
    body = b"x" * (40 << 20)
    replies = []
    socks = []
    for _ in range(int(count)):
        sock = connect(port)
        sock.sendall(b"POST /v1/responses HTTP/1.1\r\nContent-Length: 52428800\r\n\r\n")
        try:
            sock.sendall(body)
        except (ConnectionResetError, BrokenPipeError):
            pass
        socks.append(sock)
    for sock in socks:
        sock.settimeout(0.2)
        try:
            replies.append(sock.recv(15)[9:12].decode())
        except TimeoutError:
            replies.append("open")
        except ConnectionResetError:
            replies.append("reset")
    print(*replies, alive(host, port))


def trial_bytes(service, port):
    """A request that comes byte by byte."""
    host = Host(service)
    sock = connect(port)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in post(CHAT, ASK[CHAT]):
        sock.sendall(bytes([byte]))
    answer_next(host, result("x"))
    print(body_of(read_all(sock)).decode())


def trial_number(service, port):
    """Numbers that are longer than what is written of a request at a time, or just not too long."""
    host = Host(service)
    numbers = '["%s", 1.%s, -%s, %se1]' % ("1" * 5000, "0" * 200000, "1" * 4300, "1" * 4301)
    sock = ask(port, post(CHAT, '{"model": "m", "messages": [], "n": %s}' % numbers))
    name, request = host.take()
    host.answer(name, '{"result": "%s"}' % (f'"n": {numbers},' in request))
    print(body_of(read_all(sock)).decode())


def trial_deep(service, port):
    """What is nested as deep as may be; brackets in strings are none."""
    host = Host(service)
    deep = '["\\"' + "[" * 2000 + '", ' + "[" * 898 + "]" * 899
    sock = ask(port, post(CHAT, '{"model": "m", "messages": %s}' % deep))
    name, request = host.take()
    host.answer(name, '{"result": "%s"}' % (deep in request))
    print(body_of(read_all(sock)).decode())


def trial_garbage(service, port, count):
    """What is no request, in many ways; then one that is."""
    import random

    host, rng = Host(service), random.Random(1)
    good = post(RESPONSES, b"[]", "Transfer-Encoding: chunked") + b"2\r\n[]\r\n0\r\n\r\n"
    for _ in range(int(count)):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 8)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(4)] = bytes(rng.randrange(256) for _ in range(rng.randrange(4)))
        sock = connect(port)
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            reply = read_all(sock)
            assert reply.startswith(b"HTTP/1.1 "), reply
        except (ConnectionResetError, BrokenPipeError):
            pass
        sock.close()
    print(alive(host, port))


def trial_planted(service, port):
    """What somebody else may put where a response is expected: none of it is taken for one."""
    host = Host(service)
    sock = ask(port, post(CHAT, ASK[CHAT]))
    name, _ = host.take()
    path = os.path.join(host.responses, name + ".json")
    secret = os.path.join(service, "secret")
    with open(secret, "w") as file:
        file.write('{"result": "secret"}')
    for plant in (
        lambda: os.symlink(secret, path),
        lambda: os.mkfifo(path),
        lambda: os.mkdir(path),
    ):
        plant()
        time.sleep(0.3)
        os.rename(path, path + ".old")
        (os.rmdir if os.path.isdir(path + ".old") else os.unlink)(path + ".old")
    os.unlink(secret)
    with open(path + ".new", "w") as file:
        file.write('{"result": "own"}')
    os.rename(path + ".new", path)
    os.unlink(os.path.join(host.requests, name + ".json"))
    print(body_of(read_all(sock)).decode())


def trial_huge(service, port):
    """A response that is longer than any may be."""
    host = Host(service)
    sock = ask(port, post("/mcp/s", {"id": 1, "method": "tools/list"}))
    name, _ = host.take()
    with open(os.path.join(host.responses, name + ".json"), "w") as file:
        file.truncate(200 << 20)
    os.unlink(os.path.join(host.requests, name + ".json"))
    print(body_of(read_all(sock)).decode())


def trial_fail(service, port, path, stream, response):
    """A response that ends the program; what the client gets, and what another one gets."""
    host = Host(service)
    other = ask(port, post(RESPONSES, ASK[RESPONSES]))
    host.take()
    sock = ask(port, post(path, (STREAM if stream == "stream" else ASK)[path]))
    name, _ = host.take()
    host.answer(name, response)
    print(len(read_all(sock)), len(read_all(other)))


def trial_fresh(service, port):
    """Directories that are made anew, and the mode of a request."""
    host = Host(service)
    before = alive(host, port)
    os.rename(service, service + ".old")
    os.makedirs(host.requests)
    os.makedirs(host.responses)
    os.rmdir(os.path.join(service + ".old", "requests"))
    sock = ask(port, post(CHAT, ASK[CHAT]))
    name, _ = host.take()
    mode = oct(os.stat(os.path.join(host.requests, name + ".json")).st_mode & 0o777)
    host.answer(name, json.dumps(result("x")))
    print(before, mode, body_of(read_all(sock)).decode())


def trial_time(service, port, count):
    """Milliseconds for a request, one after the other, of a host that answers at once."""
    host, times = Host(service), []
    for _ in range(int(count)):
        began = time.time()
        sock = ask(port, post(CHAT, ASK[CHAT]))
        answer_next(host, result(COMPLETION))
        read_all(sock)
        times.append((time.time() - began) * 1000)
        sock.close()
    print(f"{sorted(times)[len(times) // 2]:.1f}")


TRIALS = {name[6:]: trial for name, trial in list(globals().items()) if name.startswith("trial_")}
TRIALS["talk"] = talk

if __name__ == "__main__":
    TRIALS[sys.argv[1]](sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
