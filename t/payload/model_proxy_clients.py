# SPDX-License-Identifier: MIT
"""The client libraries of three providers against model_proxy: model_proxy_clients.py SERVICE PORT

Plays the host, too. Prints one TAP-like line per point, "ok - NAME" or "not ok - NAME".
"""
import json
import sys
import threading

import anthropic
import openai
from google import genai
from google.genai import errors as google_errors
from google.genai import types

import model_proxy as ends

TEXT = "Grüße, 漢字 and 😀: " * 20
ARGUMENTS = {"city": "Zürich", "days": [1, 2]}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def completion(tools):
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": json.dumps(ARGUMENTS)}}
    message = {"role": "assistant", "content": TEXT}
    if tools:
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "tool_calls" if tools else "stop"
    choice = {"index": 0, "finish_reason": reason, "message": message, "logprobs": None}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}


def response(tools):
    item = {"type": "message", "id": "i", "status": "completed", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": TEXT, "annotations": []}]
    if tools:
        item = {"type": "function_call", "id": "f", "call_id": "c1", "name": "weather", "status": "completed"}
        item["arguments"] = json.dumps(ARGUMENTS)
    return {
        "id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item],
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
    }


def message(tools):
    block = {"type": "text", "text": TEXT}
    if tools:
        block = {"type": "tool_use", "id": "t", "name": "weather", "input": ARGUMENTS}
    reason = "tool_use" if tools else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 2}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [block],
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }


def candidates(tools):
    part = {"functionCall": {"name": "weather", "args": ARGUMENTS}} if tools else {"text": TEXT}
    return {"candidates": [{"content": {"parts": [part], "role": "model"}, "finishReason": "STOP"}]}


MAKE = {
    "generate_completions": completion,
    "generate_responses": response,
    "generate_anthropic": message,
    "generate_google": candidates,
}


def serve(host):
    """Answers by what is asked: a model of the name "fail" is a provider's error."""
    while True:
        taken = host.take(1)
        if not taken:
            continue
        request = json.loads(taken[1])
        body = request["params"]["json_data"]
        result = MAKE[request["method"]](bool(body.get("tools")))
        if body["model"] == "fail":
            result = {"__inspect_provider_error__": {"status": 429, "message": "slow down é"}}
        host.answer(taken[0], json.dumps({"id": taken[0], "result": result, "error": None}))


def check(name, got, wanted):
    if got == wanted:
        print(f"ok - {name}")
    else:
        print(f"not ok - {name}\n#   got:      {got!r}\n#   expected: {wanted!r}")
    sys.stdout.flush()


def caught(kind, run):
    try:
        run()
    except kind as e:
        return getattr(e, "status_code", None) or e.code, "slow down é" in str(e)
    return None


LIMITED = (429, True)
FUNCTION = {"name": "weather", "description": "d", "parameters": {"type": "object", "properties": {}}}
ASK = [{"role": "user", "content": "x"}]


def try_chat(client):
    create = client.chat.completions.create
    tools = [{"type": "function", "function": FUNCTION}]
    check("chat: text", create(model="m", messages=ASK).choices[0].message.content, TEXT)
    call = create(model="m", messages=ASK, tools=tools).choices[0].message.tool_calls[0].function
    check("chat: tool", (call.name, json.loads(call.arguments)), ("weather", ARGUMENTS))
    chunks = list(create(model="m", messages=ASK, stream=True, stream_options={"include_usage": True}))
    check("chat: stream", "".join(c.choices[0].delta.content or "" for c in chunks if c.choices), TEXT)
    check("chat: usage of a stream", chunks[-1].usage.total_tokens, 3)
    with client.chat.completions.stream(model="m", messages=ASK, tools=tools) as stream:
        call = stream.get_final_completion().choices[0].message.tool_calls[0].function
    check("chat: tool in a stream", (call.name, json.loads(call.arguments)), ("weather", ARGUMENTS))
    check("chat: error", caught(openai.RateLimitError, lambda: create(model="fail", messages=ASK)), LIMITED)
    check("chat: error of a stream", caught(openai.RateLimitError, lambda: create(model="fail", messages=ASK, stream=True)), LIMITED)


def try_responses(client):
    create = client.responses.create
    tools = [dict(FUNCTION, type="function", strict=False)]
    check("responses: text", create(model="m", input="x").output_text, TEXT)
    call = create(model="m", input="x", tools=tools).output[0]
    check("responses: tool", (call.name, json.loads(call.arguments)), ("weather", ARGUMENTS))
    # client.responses.stream() refuses items that "response.created" already has, as the reference's does
    events = list(create(model="m", input="x", stream=True))
    deltas = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    check("responses: stream", (deltas, events[-1].response.output_text), (TEXT, TEXT))
    events = list(create(model="m", input="x", tools=tools, stream=True))
    deltas = "".join(e.delta for e in events if e.type == "response.function_call_arguments.delta")
    check("responses: tool in a stream", json.loads(deltas), ARGUMENTS)
    check("responses: error", caught(openai.RateLimitError, lambda: create(model="fail", input="x")), LIMITED)


def try_anthropic(client):
    create, ask = client.messages.create, {"max_tokens": 9, "messages": ASK}
    tools = [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}]
    check("anthropic: text", create(model="m", **ask).content[0].text, TEXT)
    check("anthropic: tool", create(model="m", tools=tools, **ask).content[0].input, ARGUMENTS)
    with client.messages.stream(model="m", **ask) as stream:
        check("anthropic: stream", "".join(stream.text_stream), TEXT)
    with client.messages.stream(model="m", tools=tools, **ask) as stream:
        check("anthropic: tool in a stream", stream.get_final_message().content[0].input, ARGUMENTS)
    check("anthropic: error", caught(anthropic.RateLimitError, lambda: create(model="fail", **ask)), LIMITED)
    try:
        list(create(model="fail", stream=True, **ask))
        said = None
    except anthropic.APIError as e:
        said = "slow down é" in str(e)
    check("anthropic: error in a stream", said, True)


def try_google(client):
    def ask(run, model="m", **keys):
        return run(model=model, contents="x", **keys)

    models = client.models
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="weather", description="d")])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    check("google: text", ask(models.generate_content).text, TEXT)
    check("google: tool", ask(models.generate_content, config=config).function_calls[0].args, ARGUMENTS)
    check("google: stream", "".join(c.text for c in ask(models.generate_content_stream)), TEXT)
    calls = [c.function_calls[0].args for c in ask(models.generate_content_stream, config=config)]
    check("google: tool in a stream", calls, [ARGUMENTS])
    error = caught(google_errors.ClientError, lambda: ask(models.generate_content, model="fail"))
    check("google: error", error, LIMITED)


def main(service, port):
    threading.Thread(target=serve, args=(ends.Host(service),), daemon=True).start()
    url = f"http://127.0.0.1:{port}"
    client = openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)
    try_chat(client)
    try_responses(client)
    try_anthropic(anthropic.Anthropic(base_url=url, api_key="k", max_retries=0))
    # of itself the library asks for /v1, which is not there, as with the reference
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    try_google(genai.Client(api_key="k", http_options=options))


if __name__ == "__main__":
    main(*sys.argv[1:])
