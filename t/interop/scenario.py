# SPDX-License-Identifier: MIT
"""What the model does in every sandbox, and what has to come of it.

The model is a mock: it plays the script call by call. Like a real one it reads a shell again until
that has shown what it waits for; so no result depends on how fast the machine is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageTool, ModelOutput, ModelUsage
from inspect_ai.tool import ToolInfo

MODEL = "mockllm/model"
READS = 12
"""How often a shell is read for one call; each takes SHELL_WAIT seconds at most."""
SHELL_WAIT = 5


@dataclass(frozen=True)
class Box:
    """A kind of container, who its user is, and what is to be done in it."""

    image: str
    uid: int
    gid: int
    home: str
    """Of who runs the tools; the container's own user but in some early releases."""
    compose: dict[str, Any] = field(default_factory=dict)
    service: str = "root"
    """Whose the program and the service are; for the newest release."""
    who: str = "the container's user"
    """Who that is."""
    mcp: bool = True
    """It can have MCP servers."""
    second: dict[str, Any] | None = None
    """Another service, if there is one."""
    bridged: bool = False
    """It has an agent; see bridge.py."""
    script: Callable[["Box"], list["Call"]] = lambda box: brief(box)


@dataclass(frozen=True)
class Call:
    """One call of a tool; `want` has to be found in what it returns, or in its error."""

    name: str
    tool: str
    arguments: dict[str, Any]
    want: str


@dataclass
class Played:
    call: Call
    shown: str = ""
    count: int = 0

    @property
    def ok(self) -> bool:
        return re.search(self.call.want, self.shown) is not None

    @property
    def over(self) -> bool:
        return self.count > 0 and (
            self.ok or self.call.tool != "bash_session" or self.count > READS
        )


def shell(name: str, line: str, want: str) -> Call:
    return Call(name, "bash_session", {"action": "type_submit", "input": line}, want)


def editor(name: str, want: str, command: str, path: str, **arguments: Any) -> Call:
    return Call(name, "text_editor", {"command": command, "path": path, **arguments}, want)


DIRECTORY = "/tmp/interop"
NOTE = f"{DIRECTORY}/note.txt"
PROMPT = "[$#] $"


def mcp(box: Box, *calls: Call) -> list[Call]:
    return [*calls] if box.mcp else []


def brief(box: Box) -> list[Call]:
    """What depends on the kind of container."""
    who = f"{box.uid}:{box.gid}:{box.home}"
    return [
        shell(
            f"a shell runs with its home as {box.who}",
            'echo "<$(id -u):$(id -g):$HOME>"',
            f"<{who}>",
        ),
        shell("a shell keeps its state", f"mkdir {DIRECTORY}; cd {DIRECTORY}; V=kept", PROMPT),
        shell("and shows it in the next call", 'echo "<$PWD $V>"', f"<{DIRECTORY} kept>"),
        editor(
            "text_editor creates",
            f"File created successfully at: {NOTE}",
            "create",
            NOTE,
            file_text="one\ntwo\n",
        ),
        editor("views", r" {5}1\tone\n {5}2\ttwo\n", "view", NOTE),
        *mcp(box, Call(f"an MCP server runs as {box.who}", "whoami", {}, f"^{who}$")),
    ]


def thorough(box: Box) -> list[Call]:
    """And all that the tools can do."""
    return [
        *brief(box),
        Call(
            "type, without a return key of its own",
            "bash_session",
            {"action": "type", "input": "echo $((40 + 3))\n"},
            "43",
        ),
        shell(
            "read brings what comes later",
            "echo a$((1 + 1)); sleep 2; echo b$((2 + 2))",
            r"a2(.|\n)*b4",
        ),
        shell("a command that does not end", "echo c$((3 + 3)); sleep 1000", "c6"),
        Call("interrupt ends it", "bash_session", {"action": "interrupt"}, PROMPT),
        shell("by the signal", 'echo "<$?>"', "<130>"),
        Call("restart", "bash_session", {"action": "restart"}, "shell restarted successfully"),
        shell("gives a new shell", 'echo "<${V:-nothing}>"', "<nothing>"),
        editor(
            "text_editor replaces",
            r" {5}2\tzwei\n",
            "str_replace",
            NOTE,
            old_str="two",
            new_str="zwei",
        ),
        editor(
            "inserts",
            r" {5}2\tand\n {5}3\tzwei\n",
            "insert",
            NOTE,
            insert_line=1,
            insert_text="and",
        ),
        editor("undoes", r"one\n {5}2\tzwei", "undo_edit", NOTE),
        editor("lists a directory", NOTE, "view", DIRECTORY),
        editor("tells the model of its mistake", "does not exist", "view", "/no/such"),
        *mcp(
            box,
            Call("the MCP server takes arguments", "add", {"a": 2, "b": 40}, "^42$"),
            Call("its failure is for the model", "fail", {}, "it failed"),
        ),
    ]


def play(calls: list[Call], messages: list[ChatMessage]) -> list[Played]:
    """What has been played of the script, by the messages so far; the last may not be over."""
    played: list[Played] = []
    for message in messages:
        if not isinstance(message, ChatMessageTool):
            continue
        if not played or played[-1].over:
            played.append(Played(calls[len(played)]))
        played[-1].shown += message.error.message if message.error else message.text
        played[-1].count += 1
    return played


AGENT = ["python3", "/agent/agent.py"]
SAID = "Grüße, 漢字 and 😀; " * 20
TOOL_SAID = "the tool says: Côte d'Ivoire-Ville"
FAILURE = "the model is out of order"


def _for_agent(messages: list[ChatMessage], tools: list[ToolInfo]) -> ModelOutput:
    """What the agent of agent.py is told, whatever it speaks."""
    last = messages[-1]
    if last.text == "fail":
        raise RuntimeError(FAILURE)
    if last.text == "use the tool":
        return _output(tools[0].name, {"country": "Côte d'Ivoire"})
    return _content(f"the tool says: {last.text}" if last.role == "tool" else SAID)


def model(boxes: Mapping[str, Box]) -> Callable[..., ModelOutput]:
    """The mock: a function of the messages alone, so that samples can be played side by side."""

    def generate(messages: list[ChatMessage], tools: list[ToolInfo], *_: Any) -> ModelOutput:
        first = next(m.text for m in messages if m.role == "user")
        if first not in boxes:
            return _for_agent(messages, tools)
        box = boxes[first]
        calls = box.script(box)
        played = play(calls, messages)
        if played and not played[-1].over:
            return _output("bash_session", {"action": "read"})
        if len(played) < len(calls):
            return _output(calls[len(played)].tool, calls[len(played)].arguments)
        return _content("done")

    return generate


def _content(text: str) -> ModelOutput:
    output = ModelOutput.from_content(MODEL, text)
    output.usage = ModelUsage()
    return output


def _output(tool: str, arguments: dict[str, Any]) -> ModelOutput:
    output = ModelOutput.for_tool_call(MODEL, tool, arguments)
    output.usage = ModelUsage()  # or the mock counts tokens, with tables from the network
    return output
