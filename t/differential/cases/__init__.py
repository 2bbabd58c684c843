# SPDX-License-Identifier: MIT
"""The groups of cases: each has a pair of new containers of its own."""
from collections import namedtuple

from . import (chunks, command, editor, jobs, mcp, place, requests, shells, users)

Group = namedtuple("Group", "name run keeper options", defaults=("root", ()))

# The slowest first: those that start their program most often.
GROUPS = [
    Group("place", place.run),
    Group("place-user", place.run, "user"),
    Group("command", command.run),
    Group("users", users.run),
    Group("users-user", users.run, "user"),
    Group("chunks", chunks.run),
    Group("chunks-user", chunks.run, "user"),
    Group("shells", shells.run),
    Group("shells-user", shells.run, "user"),
    Group("shells-edges", shells.edges),
    Group("requests", requests.run),
    Group("editor", editor.run),
    Group("editor-edges", editor.edges),
    Group("editor-random", editor.random_edits),
    Group("editor-user", editor.run, "user"),
    Group("editor-random-user", editor.random_edits, "user"),
    Group("jobs", jobs.run),
    Group("jobs-edges", jobs.edges),
    Group("jobs-user", jobs.run, "user"),
    Group("mcp", mcp.run),
    Group("mcp-launch", mcp.launch),
    Group("mcp-encodings", mcp.encodings),
    Group("mcp-user", mcp.run, "user"),
    Group("lifecycle", place.lifecycle),
]
