# SPDX-License-Identifier: MIT
"""exec_remote, which is not a tool; early releases do not have it, or for themselves alone."""

from inspect_ai.util import (
    ExecCompleted,
    ExecRemoteAwaitableOptions,
    ExecRemoteStreamingOptions,
    ExecStdout,
    sandbox,
)

from checks import Checks
from scenario import Box


async def exec_awaited(checks: Checks, box: Box) -> None:
    result = await sandbox().exec_remote(
        ["sh", "-c", "echo out; echo err >&2; exit 3"], stream=False
    )
    seen = (result.success, result.returncode, result.stdout, result.stderr)
    checks.equal("exec_remote", seen, (False, 3, "out\n", "err\n"))

    who = ["sh", "-c", 'echo "$(id -u):$(id -g):$HOME"']
    result = await sandbox().exec_remote(who, stream=False)
    wanted = f"{box.uid}:{box.gid}:{box.home}\n"
    checks.equal(f"runs with its home as {box.who}", result.stdout, wanted)


async def exec_options(checks: Checks, _: Box) -> None:
    options = ExecRemoteAwaitableOptions(input="in\n", env={"A": "b c"}, cwd="/usr")
    result = await sandbox().exec_remote(
        ["sh", "-c", 'cat; echo "$A"; pwd'], options, stream=False
    )
    checks.equal("takes input, environment and directory", result.stdout, "in\nb c\n/usr\n")

    options = ExecRemoteAwaitableOptions(timeout=1)
    try:
        await sandbox().exec_remote(["sleep", "1000"], options, stream=False)
        checks.add("ends what takes too long", False, "it came back")
    except TimeoutError:
        checks.add("ends what takes too long", True, "")


async def exec_streamed(checks: Checks, _: Box) -> None:
    events = [
        event
        async for event in await sandbox().exec_remote(["sh", "-c", "echo a; sleep 1; echo b"])
    ]
    text = "".join(event.data for event in events if isinstance(event, ExecStdout))
    ended = isinstance(events[-1], ExecCompleted) and events[-1].exit_code
    checks.equal("streams", (text, ended), ("a\nb\n", 0))


async def exec_stdin(checks: Checks, _: Box) -> None:
    process = await sandbox().exec_remote(["cat"], ExecRemoteStreamingOptions(stdin_open=True))
    await process.write_stdin("one\n")
    await process.write_stdin("two\n")
    await process.close_stdin()
    text = "".join([event.data async for event in process if isinstance(event, ExecStdout)])
    checks.equal("writes to an open stdin", text, "one\ntwo\n")


async def exec_killed(checks: Checks, _: Box) -> None:
    process = await sandbox().exec_remote(["sh", "-c", "trap : HUP; sleep 1000; :"])
    alive = await sandbox().exec(["test", "-d", f"/proc/{process.pid}"])
    await process.kill()
    gone = await sandbox().exec(["test", "!", "-e", f"/proc/{process.pid}"])
    checks.equal("kills", (alive.success, gone.success), (True, True))


async def exec_big(checks: Checks, _: Box) -> None:
    """More than a reply may hold (see INSPECT_SANDBOX_MAX_EXEC_OUTPUT_SIZE): it comes in chunks."""
    process = await sandbox().exec_remote(["seq", "1", "300000"])
    text = "".join([event.data async for event in process if isinstance(event, ExecStdout)])
    wanted = "".join(f"{i}\n" for i in range(1, 300001))
    checks.add("brings output of 2 MB whole", text == wanted, f"{len(text)} of {len(wanted)}")


async def exec_other_user(checks: Checks, _: Box) -> None:
    options = ExecRemoteAwaitableOptions(user="nobody")
    result = await sandbox().exec_remote(["id", "-u"], options, stream=False)
    checks.equal("switches to a user that is named", result.stdout, "65534\n")


BRIEF = (exec_awaited,)
THOROUGH = (
    *BRIEF,
    exec_options,
    exec_streamed,
    exec_stdin,
    exec_killed,
    exec_big,
    exec_other_user,
)
