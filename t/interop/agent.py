# SPDX-License-Identifier: MIT
"""An agent inside a container: agent.py PORT URL: the model's port there, and an MCP server's URL.

Talks to the model by the client libraries of two providers and to the tool by that of MCP, all at
the same time, and prints one JSON object: what it saw, by name.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

SAY = [{"role": "user", "content": "say something"}]
USE = {"role": "user", "content": "use the tool"}
FAIL = [{"role": "user", "content": "fail"}]

Chat = openai.AsyncOpenAI
Messages = anthropic.AsyncAnthropic


async def chat(client: Chat) -> str:
    reply = await client.chat.completions.create(model="inspect", messages=SAY)
    return reply.choices[0].message.content


async def chat_stream(client: Chat) -> str:
    stream = await client.chat.completions.create(model="inspect", messages=SAY, stream=True)
    chunks = [chunk async for chunk in stream]
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


async def responses(client: Chat) -> str:
    return (await client.responses.create(model="inspect", input=SAY)).output_text


async def responses_stream(client: Chat) -> str:
    stream = await client.responses.create(model="inspect", input=SAY, stream=True)
    events = [event async for event in stream]
    return "".join(e.delta for e in events if e.type == "response.output_text.delta")


async def messages(client: Messages) -> str:
    reply = await client.messages.create(model="inspect", max_tokens=99, messages=SAY)
    return reply.content[0].text


async def messages_stream(client: Messages) -> str:
    async with client.messages.stream(model="inspect", max_tokens=99, messages=SAY) as stream:
        return "".join([text async for text in stream.text_stream])


async def chat_error(client: Chat) -> str:
    try:
        await client.chat.completions.create(model="inspect", messages=FAIL)
    except openai.APIStatusError as error:
        return f"{error.status_code} {error.body['message']}"
    return "no error"


async def messages_error(client: Messages) -> str:
    try:
        await client.messages.create(model="inspect", max_tokens=99, messages=FAIL)
    except anthropic.APIStatusError as error:
        return f"{error.status_code} {error.body['error']['message']}"
    return "no error"


async def call(session: ClientSession, name: str, arguments: dict[str, Any]) -> str:
    result = await session.call_tool(name, arguments)
    return result.content[0].text


async def chat_tool(client: Chat, session: ClientSession) -> str:
    """The turns of an agent: the model wants the tool, gets its result, and speaks."""
    tool = (await session.list_tools()).tools[0]
    function = {
        "name": f"mcp__host__{tool.name}",
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    tools = [{"type": "function", "function": function}]
    create = client.chat.completions.create
    message = (await create(model="inspect", messages=[USE], tools=tools)).choices[0].message
    wanted = message.tool_calls[0]
    text = await call(session, tool.name, json.loads(wanted.function.arguments))
    result = {"role": "tool", "tool_call_id": wanted.id, "content": text}
    turns = [USE, message.model_dump(exclude_none=True), result]
    return (await create(model="inspect", messages=turns, tools=tools)).choices[0].message.content


async def messages_tool(client: Messages, session: ClientSession) -> str:
    """The same in streams."""
    tool = (await session.list_tools()).tools[0]
    name = f"mcp__host__{tool.name}"
    tools = [{"name": name, "description": tool.description, "input_schema": tool.input_schema}]
    ask = {"model": "inspect", "max_tokens": 99, "tools": tools}
    async with client.messages.stream(messages=[USE], **ask) as stream:
        message = await stream.get_final_message()
    wanted = next(block for block in message.content if block.type == "tool_use")
    text = await call(session, tool.name, wanted.input)
    result = {"type": "tool_result", "tool_use_id": wanted.id, "content": text}
    said = {"role": "assistant", "content": [block.model_dump() for block in message.content]}
    turns = [USE, said, {"role": "user", "content": [result]}]
    async with client.messages.stream(messages=turns, **ask) as stream:
        return await stream.get_final_text()


async def uninvited(session: ClientSession) -> str:
    """A call that no model asked for; the host is to refuse it."""
    try:
        return await call(session, "capital", {"country": "Atlantis"})
    except Exception as error:
        return str(error)


async def main(port: str, url: str) -> None:
    base = f"http://localhost:{port}"
    one = Chat(base_url=f"{base}/v1", api_key="k", max_retries=0)
    two = Messages(base_url=base, api_key="k", max_retries=0)
    async with streamable_http_client(url) as (reader, writer, *_):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            plain: list[Callable[[Any], Awaitable[str]]]
            plain = [chat, chat_stream, responses, responses_stream, chat_error]
            runs = {run.__name__: run(one) for run in plain}
            plain = [messages, messages_stream, messages_error]
            runs |= {run.__name__: run(two) for run in plain}
            runs["chat_tool"] = chat_tool(one, session)
            runs["messages_tool"] = messages_tool(two, session)
            runs["uninvited"] = uninvited(session)
            seen = await asyncio.gather(*runs.values(), return_exceptions=True)
    print(json.dumps(dict(zip(runs, map(str, seen)))))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
