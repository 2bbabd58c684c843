# SPDX-License-Identifier: MIT
"""An agent in the container that reaches the model, and a tool here, by sandbox_agent_bridge()."""

import json

from inspect_ai.agent import BridgedToolsSpec, sandbox_agent_bridge
from inspect_ai.tool import Tool, tool
from inspect_ai.util import sandbox

from checks import Checks, program_digest
from scenario import AGENT, FAILURE, SAID, TOOL_SAID

SERVING = """
for exe in /proc/[0-9]*/exe; do
  ! tr '\\0' ' ' <"${exe%exe}cmdline" | grep -q '^/[^ ]* model_proxy $' || sha256sum <"$exe"
done"""
"""The digests of the running programs that serve; not of a shell that waits for one."""

WANTED = {
    "chat": ("a completion", SAID),
    "chat_stream": ("as a stream", SAID),
    "responses": ("a response", SAID),
    "responses_stream": ("as a stream, too", SAID),
    "messages": ("an Anthropic message", SAID),
    "messages_stream": ("and as a stream", SAID),
    "chat_tool": ("a tool that the model wants in a completion", TOOL_SAID),
    "messages_tool": ("and in a message, in streams", TOOL_SAID),
}

FAILURES = {
    "chat_error": "a failure of the model, for a completion",
    "messages_error": "and for a message",
}


@tool
def capital() -> Tool:
    async def execute(country: str) -> str:
        """Tells the capital of a country.

        Args:
            country: Its name.
        """
        return f"{country}-Ville"

    return execute


async def serving() -> list[str]:
    listed = await sandbox().exec(["sh", "-c", SERVING], user="root")
    return [line.split()[0] for line in listed.stdout.splitlines()]


async def bridged(checks: Checks) -> None:
    tools = BridgedToolsSpec(name="host", tools=[capital()])
    async with sandbox_agent_bridge(bridged_tools=[tools]) as bridge:
        url = bridge.mcp_server_configs[0].url
        agent = await sandbox().exec([*AGENT, str(bridge.port), url], timeout=300)
        digests = await serving()
    checks.equal("the agent bridge is our program", digests, [await program_digest()])
    checks.add("an agent uses it", agent.success, agent.stderr[-500:])
    seen = json.loads(agent.stdout) if agent.success else {}
    for key, (name, wanted) in WANTED.items():
        checks.equal(f"agent bridge: {name}", seen.get(key), wanted)
    for key, name in FAILURES.items():
        checks.add(f"agent bridge: {name}", FAILURE in seen.get(key, ""), seen.get(key))
    refused = seen.get("uninvited", "")
    checks.add("a call that no model wants is refused", "not proposed" in refused, refused)
    checks.equal("the bridge ends with the agent", await serving(), [])
