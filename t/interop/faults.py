# SPDX-License-Identifier: MIT
"""faults.py ROUTE: what goes wrong in evaluations, and what comes of it; TAP.

ROUTE is provider, exec or switch; see evals.py. From the environment: SBINJECT, the command, and an
engine for it and for the docker command. Works in the current directory.
"""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import inspect_ai
import inspect_sbinject as sbi
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import text_editor
from inspect_ai.util import sandbox
from inspect_sbinject import provider, switch
from inspect_sbinject.channels import TOOLS_CLI

from evals import PROVIDER, SWITCHED, Points

SBINJECT = os.environ["SBINJECT"]
KILL_SERVICE = """
for p in /proc/[0-9]*; do
  tr '\\0' ' ' <$p/cmdline | grep -q 'inspect-sandbox-tools server ' && kill -9 ${p##*/}
done; :"""
KILL_ALL = """
for p in /proc/[0-9]*; do
  tr '\\0' ' ' <$p/cmdline | grep -q '^[^ ]*\\(inspect-sandbox-tools\\|/run-[^ ]*\\) ' &&
    kill -9 ${p##*/}
done; :"""
SERVICE = {
    "image": "sbinject-test/bookworm:1",
    "command": ["/pause"],
    "hostname": "box",
    "network_mode": "none",
    "x-local": True,
}

Step = Callable[[], Awaitable[object]]


def run(route: str, step: Step, count: int = 1, service: Any = SERVICE, **options: Any) -> EvalLog:
    """An evaluation in which each sample does that."""

    @solver
    def does() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.metadata["seen"] = str(await step())
            return state

        return solve

    path = Path(f"compose-{step.__name__}.yaml").absolute()
    path.write_text(json.dumps({"services": {"default": service}}))
    where = (PROVIDER.get(route, "docker"), str(path))
    return eval(
        Task(
            name=step.__name__,
            dataset=[Sample(id=n + 1, input="go", sandbox=where) for n in range(count)],
            solver=does(),
        ),
        model=get_model("mockllm/model"),
        display="plain" if "one" in sys.argv else "none",
        log_dir="logs",
        score_display=False,
        **{"fail_on_error": False, **options},
    )[0]


def samples(log: EvalLog) -> list[EvalSample]:
    return list(log.samples or [])


def seen(log: EvalLog) -> list[str]:
    return [sample.metadata.get("seen", "") for sample in samples(log)]


def errors(log: EvalLog) -> str:
    said = [sample.error.message for sample in samples(log) if sample.error]
    return " ".join([log.error.message if log.error else "", *said])


def own(command: str) -> list[str]:
    """The lines of ps with this process's children of that name."""
    listed = subprocess.run(["ps", "-eo", "ppid=,stat=,args="], capture_output=True, text=True)
    lines = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [line[2] for line in lines if line[0] == str(os.getpid()) and command in line[2]]


def projects() -> str:
    """Containers of inspect_ai that are still there."""
    listed = subprocess.run(
        [
            "docker",
            "ps",
            "-aq",
            "--filter",
            f"label=com.docker.compose.project.working_dir={Path.cwd()}",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return listed.stdout


async def edit() -> object:
    return await text_editor()("view", "/etc/passwd")


# ---- what goes wrong ----


async def service_killed() -> object:
    """In the middle of a call, then between two."""
    said: list[object] = []

    async def call() -> None:
        try:
            said.append(await sandbox().exec_remote(["sleep", "1000"], stream=False))
        except Exception as error:
            said.append(error)

    await edit()
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        while not (await sandbox().exec(["sh", "-c", "grep -l sleep /proc/[0-9]*/comm"])).stdout:
            await anyio.sleep(0.05)
        await sandbox().exec(["sh", "-c", KILL_SERVICE], user="root")
    return [type(said[0]).__name__, "root:" in str(await edit())]


async def all_killed() -> object:
    """What serves the channel, too."""
    await edit()
    with suppress(sbi.ChannelBroken):  # it may be what runs the command
        await sandbox().exec(["sh", "-c", KILL_ALL], user="root")
    said = []
    for _ in range(3):
        try:
            said.append("root:" in str(await edit()))
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    return said[-1]


async def container_killed() -> object:
    await edit()
    name = (await sandbox().connection()).container
    subprocess.run(["docker", "kill", str(name)], check=True, capture_output=True)
    try:
        return await edit()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def restarted() -> object:
    """By its own command, which is not run once more."""
    await sandbox().exec(["true"])
    try:
        await sandbox().exec(["sh", "-c", "echo once >>/count; kill 1; sleep 100"])
    except Exception as error:
        name = type(error).__name__
    else:
        name = "none"
    while True:
        with suppress(Exception):
            count = await sandbox().exec(["cat", "/count"])
            if count.success:
                return [name in ("none", "SandboxUnavailableError"), count.stdout]
        await anyio.sleep(0.05)


async def given_up() -> object:
    """A call, and a command with all that it has started, by a scope that ends."""
    await edit()
    with anyio.move_on_after(1):
        await sandbox().exec(["sh", "-c", "sleep 997 & sleep 998"], timeout=600)
    with anyio.move_on_after(0.01):
        await sandbox().exec_remote(["sleep", "3"], stream=False)
    try:
        await sandbox().exec(["sleep", "996"], timeout=1)
        late = "no timeout"
    except TimeoutError:
        late = "timeout"
    left = await sandbox().exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"])
    return [
        late,
        "sleep 996" in left.stdout,
        "sleep 998" in left.stdout,
        "root:" in str(await edit()),
    ]


async def hanging() -> object:
    return await sandbox().exec_remote(["sleep", "1000"], stream=False)


async def busy() -> object:
    """Two calls of each kind."""
    for _ in range(2):
        await edit()
        await sandbox().exec(["true"])
    return "done"


async def docker_missing() -> object:
    """While a tool is called."""
    path = os.environ["PATH"]
    os.environ["PATH"] = "/nowhere"
    try:
        return "root:" in str(await edit())
    except Exception as error:
        return type(error).__name__
    finally:
        os.environ["PATH"] = path


async def planted() -> object:
    """A program of the agent's does not make a user root."""
    await sandbox().exec(["cp", "/bin/sh", "/tmp/sh"])
    await sandbox().write_file("/tmp/id", "#!/tmp/sh\necho 0\n")
    await sandbox().exec(["chmod", "755", "/tmp/id"])
    request = {"jsonrpc": "2.0", "method": "text_editor", "id": 1}
    request["params"] = {"command": "create", "path": "/tmp/new", "file_text": "new"}
    await sandbox().exec([TOOLS_CLI, "exec"], input=json.dumps(request))
    return (await sandbox().exec(["stat", "-c", "%u", "/tmp/new"])).stdout.strip()


async def output_cut() -> object:
    """The last bytes count, as docker exec keeps them."""
    result = await sandbox().exec(["sh", "-c", "seq 1 200000; echo e >&2; exit 3"])
    return [result.returncode, len(result.stdout), result.stderr]


async def bytes_true() -> object:
    """All bytes there and back; each user, directory and environment as docker exec has them."""
    data = bytes(range(256)) * 4096
    await sandbox().write_file("/tmp/all", data)
    same = await sandbox().read_file("/tmp/all", text=False) == data
    one = await sandbox().exec(["sh", "-c", "wc -c; pwd; id; env | sort"], input=data)
    two = await sandbox().exec(
        ["sh", "-c", "pwd; id; env | sort"], cwd="/usr", env={"A": "b c"}, user="nobody"
    )
    none = await sandbox().exec(["no-such-program"])
    return [same, one.stdout, two.stdout, none.returncode, none.stdout, none.stderr]


# ---- what comes of it ----


def judge_kills(points: Points, route: str) -> None:
    log = run(route, service_killed)
    ok = seen(log) == ["['RuntimeError', True]"]
    points.add(
        "a service killed in a call is an error of it; the next call works",
        ok,
        (seen(log), errors(log)),
    )
    log = run(route, all_killed)
    points.add(
        "all our processes killed: the next calls work",
        seen(log) == ["True"],
        (seen(log), errors(log)),
    )
    log = run(route, restarted, service={**SERVICE, "restart": "always"}, time_limit=300)
    ok = seen(log) == [str([True, "once\n"])]
    name = "a command under way as its container restarts runs once"
    points.add(name, ok, (seen(log), errors(log)))
    log = run(route, container_killed)
    ok = len(seen(log)) == 1 and "is not running" in seen(log)[0] + errors(log)
    points.add("a container killed is a clear error", ok, (seen(log), errors(log)))


def judge_ends(points: Points, route: str) -> None:
    log = run(route, given_up)
    left = route != "exec"  # docker exec leaves what it ran; so is this where we do not run it
    ok = seen(log) == [str(["timeout", False, left, True])]
    points.add("what is given up ends, and the channel goes on", ok, (seen(log), errors(log)))
    log = run(route, hanging, time_limit=3)
    ok = bool(samples(log)) and samples(log)[0].limit is not None
    points.add("a sample is ended at its limit", ok, (seen(log), errors(log)))
    points.add("and no process is left", not own("sbinject"), own("sbinject"))
    points.add("and no container", not projects(), projects())


def judge_refusals(points: Points, route: str) -> None:
    readonly = {**SERVICE, "read_only": True}
    log = run(route, edit, service=readonly)
    said = errors(log)
    ok = "read-only" in said and "--graft" in said and "-default-1" in said
    points.add("a container that sbinject refuses fails its sample by its one line", ok, said)
    points.add("and is removed", not projects(), projects())
    os.environ["SBINJECT"] = "/no/such/sbinject"
    said = errors(run(route, edit))
    os.environ["SBINJECT"] = SBINJECT
    points.add("a program that is missing is named", "/no/such/sbinject" in said, said)
    points.add("and nothing is left", not projects(), projects())
    once = Path("once").absolute()
    once.write_text(f"#!/bin/sh\n[ $1 != inject ] || rm {once}\nexec {SBINJECT} \"$@\"\n")
    once.chmod(0o755)
    provider._runs_commands.cache_clear()
    os.environ["SBINJECT"] = str(once)
    said = errors(run(route, edit))
    os.environ["SBINJECT"] = SBINJECT
    points.add("one that is missing a little later, too", str(once) in said, said)
    points.add("and nothing is left", not projects(), projects())


    os.environ["INSPECT_SBINJECT"] = "1"
    log = run("switch", docker_missing)
    del os.environ["INSPECT_SBINJECT"]
    ok = seen(log) == ["SandboxInjectionError"]
    points.add("without a docker command, the sample fails: the model is not told", ok, seen(log))


def judge_user(points: Points, route: str) -> None:
    path = "/tmp:/usr/bin:/bin"
    log = run(route, planted, service={**SERVICE, "user": "1234", "environment": {"PATH": path}})
    name = "a program that the agent put into its PATH does not make it root"
    points.add(name, seen(log) == ["1234"], (seen(log), errors(log)))


SLOWLY = """\
case $* in *--output=*) ;; *) exec {0} "$@" ;; esac
for last; do :; done
out=${{last#--output=}}
mkdir "$out/.new"
{0} "${{@:1:$#-1}}" "--output=$out/.new"
mv "$out/.new/"*-amd64-v* "$out"
read -r go <{1}
mv "$out/.new/"* "$out"
rmdir "$out/.new"
"""


def judge_entry(points: Points, route: str) -> None:
    """With an inspect_ai that lacks what this needs."""
    without = "import sys; sys.modules['inspect_sbinject.switch'] = None; "
    code = without + "import inspect_sbinject.entry"
    for switched, wanted in ("", 0), ("1", 1):
        env = {**os.environ, "INSPECT_SBINJECT": switched}
        ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        ok = ran.returncode == wanted and ("cannot use the one" in ran.stderr) == bool(wanted)
        name = "is an error where the switch is on" if wanted else "is none if nobody uses it"
        points.add(f"an entry point that cannot be loaded {name}", ok, ran)


def judge_artifact(points: Points, route: str) -> None:
    """Another sample wants a program while they are being written."""
    fifo = Path("go").absolute()
    os.mkfifo(fifo)
    go = os.open(fifo, os.O_RDWR)
    slow = Path("slow").absolute()
    slow.write_text("#!/bin/bash\n" + SLOWLY.format(SBINJECT, fifo))
    slow.chmod(0o755)
    got: list[str] = []

    async def want() -> None:
        try:
            got.append((await switch._artifact("arm64", False))[0])
        except Exception as error:
            got.append(str(error))

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(want)
            while not list(Path(switch._directory().name).rglob("*-amd64-v*")):
                await anyio.sleep(0.05)
            group.start_soon(want)
            os.write(go, b"go\ngo\n")

    os.environ["SBINJECT"] = str(slow)
    anyio.run(both)
    os.environ["SBINJECT"] = SBINJECT
    os.close(go)
    ok = len(got) == 2 and all(name.startswith("sbinject-arm64-") for name in got)
    points.add("two samples at a time want our program for others than docker", ok, got)


def judge_many(points: Points, route: str) -> None:
    log = run(route, busy, count=50, max_samples=10, max_sandboxes=10)
    done = seen(log).count("done")
    points.add("50 samples, 10 at a time", done == 50, (done, errors(log)[:1000]))
    points.add("leave no process", not own("sbinject"), own("sbinject"))
    points.add("and no container", not projects(), projects())


def judge_exec(points: Points, route: str) -> None:
    for step in bytes_true, output_cut:
        by = {name: run(name, step) for name in ("docker", route)}
        said = {name: seen(log) or errors(log) for name, log in by.items()}
        points.add(f"{step.__name__}: as docker exec", said["docker"] == said[route] != [""], said)


def judge_contract(points: Points, route: str) -> None:
    """In a process of its own, with a copy of inspect_ai of which one file has changed."""
    package = Path(inspect_ai.__file__).parent
    copy = Path("other").absolute()
    copy.mkdir()
    subprocess.run(["cp", "-rs", str(package), str(copy)], check=True)
    changed = copy / "inspect_ai/util/_sandbox/docker/docker.py"
    text = changed.read_text()
    changed.unlink()
    changed.write_text(text + "\n# another\n")
    for insist, wanted in ("", "docker/docker.py"), ("any", "root:"):
        env = {
            **os.environ,
            "PYTHONPATH": f"{copy}:{os.environ['PYTHONPATH']}",
            "INSPECT_SBINJECT_CONTRACT": insist,
        }
        ran = subprocess.run(
            [sys.executable, __file__, route, "one"], env=env, capture_output=True, text=True
        )
        name = "is used if somebody insists" if insist else "is refused, and its file is named"
        points.add(
            f"an inspect_ai that is not known {name}",
            wanted in "".join(ran.stdout.split("\n")),
            ran,
        )


def main(route: str, only: str = "") -> int:
    os.environ.update(SWITCHED.get(route, {}))
    if only:
        log = run(route, edit)
        print(seen(log), errors(log))
        return 0
    points = Points(f"inspect_ai {inspect_ai.__version__}, {route}, faults")
    judges = [judge_kills, judge_ends, judge_refusals, judge_user, judge_many, judge_contract]
    for judge in [*judges, judge_entry, judge_artifact]:
        judge(points, route)
    if route == "exec":
        judge_exec(points, route)
    return Points.bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
