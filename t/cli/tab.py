#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tab.py LINE COMMAND...: start an interactive shell, wait for its prompt "READY> ", type LINE, and
print what the terminal shows after that, without control sequences."""
import os
import pty
import re
import select
import signal
import sys
import time


def read_until(fd, what):
    data = b""
    end = time.monotonic() + 30
    while what not in data and time.monotonic() < end:
        if select.select([fd], [], [], 1)[0]:
            try:
                data += os.read(fd, 65536)
            except OSError:
                break
    return data


pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp(sys.argv[2], sys.argv[2:])
read_until(fd, b"READY> ")
# What is typed behind the line shows up when all before it has been dealt with.
os.write(fd, sys.argv[1].encode())
os.write(fd, b"@")
shown = read_until(fd, b"@").decode(errors="replace").replace("@", "")
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
shown = re.sub(r"\x1b(\[[0-9;?]*[a-zA-Z]|[=>])|[\a\r]", "", shown)
while "\b" in shown:
    shown = re.sub(r"[^\x08]?\x08", "", shown, count=1)
print(" ".join(shown.split()))
