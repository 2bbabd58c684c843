# SPDX-License-Identifier: MIT
"""A channel into one container: `sbinject pipe`, with many requests under way at once.

There is no task in the background, which would belong to one kind of event loop: of those that wait
for a reply, one reads, and gives the others theirs. The process is given up with its stdin, so it
cannot outlive this one.
"""

import base64
import binascii
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from .client import Options
from .errors import (
    FAILURES,
    ChannelBroken,
    ContainerEnded,
    NotStarted,
    ProtocolError,
    SbinjectError,
)

REQUEST_MAX = 64 << 20
"""Bytes in a request; the program in the container takes no longer one."""
REPLY_MAX = 128 << 20
KEEP_MAX = 16 << 20
"""Bytes kept of each output of a command, at most."""
SEND_SECONDS = 30
"""How long a request, once begun, may take to get into the channel."""
END_SECONDS = 5
READ_SIZE = 1 << 18

METHOD_NOT_FOUND = -32601
SERVER_ERROR = -32000
NOT_STARTED = -32011

_ID_LAST = re.compile(rb', ?"id": ?([0-9]{1,18})\}\s*$')

_loop: RunVar[object] = RunVar("inspect_sbinject")


def _this_loop() -> object:
    """The same for as long as one event loop runs."""
    try:
        return _loop.get()
    except LookupError:
        mark = object()
        _loop.set(mark)
        return mark


@dataclass(frozen=True)
class Ran:
    """How a command ended, and the last that it said."""

    status: int
    stdout: bytes
    stderr: bytes


class _Waiter:
    """Somebody who waits for a reply."""

    def __init__(self) -> None:
        self.event = anyio.Event()
        self.done = False
        self.line = b""
        self.error: SbinjectError | None = None

    def finish(self, line: bytes = b"", error: SbinjectError | None = None) -> None:
        self.done, self.line, self.error = True, line, error
        self.event.set()


class _Connection:
    """One run of `sbinject pipe`."""

    def __init__(self, argv: Sequence[str], container: str):
        self.container = container
        self.loop = _this_loop()
        self.stderr: IO[bytes] = tempfile.TemporaryFile()
        # Of its own session: what interrupts this process from its terminal does not end it.
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        for file in self.stdin, self.stdout:
            os.set_blocking(file.fileno(), False)
        self.received = bytearray()
        self.waiters: dict[int, _Waiter] = {}
        self.asleep: dict[_Waiter, None] = {}  # those of them that somebody else reads for
        self.last_id = 0
        self.error: SbinjectError | None = None
        self.answered = False
        self.reading = False
        self.sending = anyio.Lock()

    # ---- replies ----

    def add(self) -> tuple[int, _Waiter]:
        self.last_id += 1
        waiter = self.waiters[self.last_id] = _Waiter()
        return self.last_id, waiter

    async def wait(self, waiter: _Waiter) -> None:
        """Until it is done; whoever finds nobody reading reads for all."""
        try:
            while not waiter.done:
                if self.reading:
                    await self._sleep(waiter)
                else:
                    await self._read_for(waiter)
        finally:
            # However this one leaves, it may be the one whose turn it was.
            if not self.reading:
                self._wake_one()

    async def _sleep(self, waiter: _Waiter) -> None:
        waiter.event = anyio.Event()
        self.asleep[waiter] = None
        try:
            await waiter.event.wait()
        finally:
            del self.asleep[waiter]

    def _wake_one(self) -> None:
        for waiter in self.asleep:
            waiter.event.set()
            return

    async def _read_for(self, waiter: _Waiter) -> None:
        self.reading = True
        try:
            while not waiter.done and not self.error:
                await anyio.wait_readable(self.stdout.fileno())
                await self._read()
        finally:
            self.reading = False
        if self.error and not waiter.done:
            waiter.finish(error=self.error)

    async def _read(self) -> None:
        try:
            data = os.read(self.stdout.fileno(), READ_SIZE)
        except BlockingIOError:
            return
        if data:
            self._take(data)
        else:
            self.fail(await anyio.to_thread.run_sync(self._why_ended))

    def ended(self) -> bool:
        """Whether it has ended while nobody looked; what is there to be read is taken."""
        while not self.error:
            try:
                data = os.read(self.stdout.fileno(), READ_SIZE)
            except BlockingIOError:
                return False
            if not data:
                return True
            self._take(data)
        return True

    def _take(self, data: bytes) -> None:
        start = len(self.received)
        self.received += data
        if data.find(b"\n") >= 0:
            *lines, rest = bytes(self.received).split(b"\n")
            self.received = bytearray(rest)
            for line in lines:
                if not self.error:
                    self._dispatch(line)
        elif start > REPLY_MAX:
            self.fail(ProtocolError(f"{self.container}: a reply is too long", self.container))

    def _dispatch(self, line: bytes) -> None:
        match = _ID_LAST.search(line[-40:])
        if match:
            id: Any = int(match[1])
        else:
            try:
                id = json.loads(line).get("id")
            except (ValueError, AttributeError, RecursionError):
                self.fail(ProtocolError(f"{self.container}: a reply is not JSON", self.container))
                return
        # One of somebody who has given up is nobody's.
        waiter = self.waiters.get(id) if type(id) is int else None
        self.answered = True
        if waiter:
            waiter.finish(line)

    # ---- requests ----

    async def send(self, data: bytes) -> None:
        """All of it; one that is cancelled half way would spoil the next."""
        async with self.sending:
            if self.error:
                raise self.error
            rest = memoryview(data)[self._write(data) :]
            if rest:
                await self._send_rest(rest)
        if self.error:
            raise self.error

    def _write(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self.stdin.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # it has ended; who waits for the reply will read how

    async def _send_rest(self, rest: memoryview) -> None:
        reader = self.waiters[0] = _Waiter()

        async def read() -> None:
            await self.wait(reader)
            group.cancel_scope.cancel()

        try:
            with anyio.move_on_after(SEND_SECONDS, shield=True):
                async with anyio.create_task_group() as group:
                    # Or replies that nobody reads could keep it from taking the request.
                    group.start_soon(read)
                    while rest:
                        await anyio.wait_writable(self.stdin.fileno())
                        rest = rest[self._write(rest) :]
                    group.cancel_scope.cancel()
        finally:
            self.waiters.pop(0, None)
            if rest:
                self.fail(
                    ChannelBroken(
                        f"{self.container}: the channel took no input for {SEND_SECONDS} s",
                        self.container,
                    )
                )

    # ---- the end ----

    def fail(self, error: SbinjectError) -> None:
        """For all that wait, and all that come."""
        self.error = self.error or error
        for waiter in self.waiters.values():
            waiter.finish(error=self.error)

    def _why_ended(self) -> SbinjectError:
        try:
            exit = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            exit = self.process.wait()
        self.stderr.seek(0)
        lines = self.stderr.read(1 << 16).decode(errors="replace").strip().splitlines()
        said = lines[-1].removeprefix("sbinject: ") if lines else "it said nothing"
        said = said.removeprefix(f"{self.container}: ")
        # An exit status says why it could not be opened.
        opened = self.answered or exit not in FAILURES or exit == 1
        ended = ContainerEnded if exit == 4 else ChannelBroken
        kind = ended if opened else FAILURES[exit][1]
        return kind(f"{self.container}: the channel ended: {said}", self.container, exit)

    def end(self, patience: float = END_SECONDS) -> None:
        """Blocks until the process is gone. Somebody may still be about to read from it."""
        with suppress(OSError):
            self.stdin.close()
        for stop in self.process.terminate, self.process.kill:
            try:
                self.process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                stop()
        self.process.wait()


class Channel:
    """Requests to the service in one container; opened by the first, and again if it has broken.

    With `commands`, run() runs commands in the container, besides.
    """

    def __init__(self, container: str, options: Options | None = None, commands: bool = False):
        self.container = container
        self.options = options or Options()
        self.commands = commands
        self._connection: _Connection | None = None

    def _open(self) -> _Connection:
        connection = self._connection
        if connection and connection.loop is not _this_loop():
            connection.fail(ChannelBroken("its event loop has ended", self.container))
        if connection and not connection.error and not connection.reading and connection.ended():
            connection.fail(ChannelBroken("the channel has ended", self.container))
        if not connection or connection.error:
            if connection:
                connection.end(0)
            more = ["--exec"] if self.commands else []
            argv = [*self.options.argv("pipe", *more), "--", self.container]
            try:
                connection = self._connection = _Connection(argv, self.container)
            except OSError as error:
                raise SbinjectError(
                    f"{self.container}: cannot run '{argv[0]}': {error.strerror}", self.container
                ) from error
        return connection

    async def _ask(
        self, make: Callable[[int], bytes], too_long: type[SbinjectError] = SbinjectError
    ) -> tuple[_Connection, int, _Waiter]:
        connection = self._open()
        id, waiter = connection.add()
        data = make(id)
        if len(data) > REQUEST_MAX:
            del connection.waiters[id]
            raise too_long(
                f"{self.container}: a request of {len(data)} bytes is too long", self.container
            )
        try:
            await connection.send(data)
        except BaseException:
            del connection.waiters[id]
            raise
        return connection, id, waiter

    async def _reply(self, make: Callable[[int], bytes]) -> tuple[int, bytes]:
        connection, id, waiter = await self._ask(make)
        try:
            await connection.wait(waiter)
        finally:
            del connection.waiters[id]
        if waiter.error:
            raise waiter.error
        return id, waiter.line

    async def request(self, request: Mapping[str, Any]) -> str:
        """Send a JSON-RPC request, as it is but for its id; the reply, as it came but for its id.

        A notification has no reply: empty.
        """
        if "id" not in request:
            connection = self._open()
            await connection.send(_line(request))
            return ""
        id, line = await self._reply(lambda id: _line({**request, "id": id}))
        own = json.dumps(request["id"]).encode()
        match = _ID_LAST.search(line)
        if match:
            return (line[: match.start(1)] + own + line[match.end(1) :]).decode(errors="replace")
        reply = json.loads(line)
        reply["id"] = request["id"]
        return json.dumps(reply)

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The result of a method; an error reply raises."""
        request = {"jsonrpc": "2.0", "method": method, "params": params or {}, "id": 0}
        reply = json.loads(await self.request(request))
        if "error" in reply:
            raise SbinjectError(f"{self.container}: {method}: {reply['error']}", self.container)
        if "result" not in reply:
            raise ProtocolError(f"{self.container}: {method}: there is no result", self.container)
        return reply["result"]

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        input: bytes | None = None,
        keep: int = KEEP_MAX,
    ) -> Ran:
        """Run a command just as the engine's exec does; whoever gives up waiting ends it.

        Raises:
            NotStarted: It would not be just as the engine does it, so it was not started.
            SbinjectError: The channel broke; the command may have run.
        """
        params = {
            "argv": list(argv),
            "cwd": cwd,
            "env": dict(env) if env else None,
            "user": user,
            "input": None if input is None else base64.b64encode(input).decode(),
            "keep": keep,
        }
        request = {"jsonrpc": "2.0", "method": "run", "params": params}
        if not self.commands:
            raise NotStarted("this channel is not for commands", self.container)
        if keep > KEEP_MAX:
            raise NotStarted(f"more than {KEEP_MAX} bytes of output are wanted", self.container)
        connection, id, waiter = await self._ask(
            lambda id: _line({**request, "id": id}), too_long=NotStarted
        )
        try:
            await connection.wait(waiter)
        finally:
            if not waiter.done:
                await self._kill(connection, id)
            del connection.waiters[id]
        if waiter.error:
            raise waiter.error
        return self._ran(json.loads(waiter.line))

    async def _kill(self, connection: _Connection, id: int) -> None:
        kill = {"jsonrpc": "2.0", "method": "run_kill", "params": {"id": id}}
        with anyio.CancelScope(shield=True), suppress(SbinjectError):
            await connection.send(_line(kill))

    def _ran(self, reply: Mapping[str, Any]) -> Ran:
        error = reply.get("error")
        if isinstance(error, dict) and error.get("code") in (NOT_STARTED, METHOD_NOT_FOUND):
            raise NotStarted(f"{self.container}: {error.get('message')}", self.container)
        if isinstance(error, dict) and error.get("code") == SERVER_ERROR:
            raise SbinjectError(
                f"{self.container}: a command was ended: {error.get('data')}", self.container
            )
        result = reply.get("result")
        try:
            if not isinstance(result, dict) or type(result["status"]) is not int:
                raise ValueError
            out, err = (
                base64.b64decode(result[stream], validate=True) for stream in ("stdout", "stderr")
            )
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise ProtocolError(
                f"{self.container}: a command has no proper result: {str(error or reply)[:200]}",
                self.container,
            ) from None
        return Ran(result["status"], out, err)

    async def close(self) -> None:
        """End it; returns when its process is gone."""
        connection, self._connection = self._connection, None
        if connection:
            connection.fail(ChannelBroken(f"the channel into {self.container} was closed"))
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(connection.end)


def _line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"
