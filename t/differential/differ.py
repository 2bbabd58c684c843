#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""differ.py: the same requests to two in-container programs, and a table of what differs.

  differ.py THEIRS.tar OURS.tar FORKER [--only REGEX] [--whole] [--jobs N] [--verbose]

Each of the tar files holds one program; FORKER is forker.c, compiled. DOCKER_HOST is the engine.
Exit status 1 if anything is wrong, that is, if it differs and t/differential/by-design has no
reason for it, or if all groups ran and a reason there was for nothing.
"""
import argparse
import concurrent.futures
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import world

REASONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "by-design")


class Reason:
    """A difference that is meant: a pattern of cases, patterns of both values, and why."""

    def __init__(self, stanza):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines())
        self.why = fields.pop("why")
        self.case = re.compile(fields.pop("case"), re.DOTALL)
        self.values = [re.compile(fields.pop(side)) for side in ("theirs", "ours")]
        self.used = 0
        assert not fields, f"{REASONS}: unknown fields {fields}"
        assert not any(p.search("") for p in self.values), f"{REASONS}: {self.why}: fits everything"

    def holds(self, name, values):
        return self.case.fullmatch(name) and all(
            p.search(v) for p, v in zip(self.values, values))


def read_reasons():
    with open(REASONS, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    text = re.sub(r"\n +", " ", text)
    return [Reason(s) for s in re.split(r"\n\n+", text.strip())]


def parting(*values):
    """Of long values, what is around the first difference."""
    same = len(os.path.commonprefix(values))
    start = max(0, same - 300) if max(map(len, values)) > 1500 else 0
    return tuple(("… " if start else "") + v[start:start + 1500] for v in values)


class Report:
    def __init__(self, verbose):
        self.lock = threading.Lock()
        self.reasons = read_reasons()
        self.verbose = verbose
        self.rows = {}
        self.wrong = []

    def add(self, name, theirs, ours):
        values = [json.dumps(v, sort_keys=True) for v in (theirs, ours)]
        group = name.split("/")[0]
        with self.lock:
            row = self.rows.setdefault(group, {"compared": 0, "equal": 0, "design": 0, "wrong": 0})
            row["compared"] += 1
            if values[0] == values[1]:
                row["equal"] += 1
                return
            reason = next((r for r in self.reasons if r.holds(name, values)), None)
            if reason:
                reason.used += 1
                row["design"] += 1
            else:
                row["wrong"] += 1
                self.wrong.append((name, *values))
            if self.verbose or not reason:
                verdict = f"by design: {reason.why}" if reason else "wrong"
                theirs, ours = parting(*values)
                print(f"# {name}: {verdict}\n#   theirs {theirs}\n#   ours   {ours}", flush=True)

    def fail(self, name, text):
        with self.lock:
            row = self.rows.setdefault(name, {"compared": 0, "equal": 0, "design": 0, "wrong": 0})
            row["wrong"] += 1
            self.wrong.append((name, text, ""))
            print(f"# {name}: {text}", flush=True)

    def table(self):
        columns = ("compared", "equal", "design", "wrong")
        print("%-24s %8s %8s %8s %8s" % (("group",) + columns))
        total = dict.fromkeys(columns, 0)
        for group, row in sorted(self.rows.items()):
            print("%-24s %8d %8d %8d %8d" % ((group,) + tuple(row[c] for c in columns)))
            for c in columns:
                total[c] += row[c]
        print("%-24s %8d %8d %8d %8d" % (("sum",) + tuple(total[c] for c in columns)))
        print("\nby design:")
        for reason in self.reasons:
            if reason.used:
                print("%6d  %s" % (reason.used, reason.why))


    def unused(self):
        """Reasons for nothing: they would hide what they were not meant for."""
        unused = [r for r in self.reasons if not r.used]
        for reason in unused:
            print("by design, but met nowhere: case %s: %s" % (reason.case.pattern, reason.why))
        return unused


def run_group(group, programs, report, whole):
    start = time.monotonic()
    made = None
    try:
        made = world.World(group.name, programs, report, whole, group.options, group.keeper)
        group.run(made)
    except Exception as error:  # of the test itself
        report.fail(group.name, f"broke off: {type(error).__name__}: {error}")
    finally:
        if made:
            made.remove()
    print(f"# {group.name}: {time.monotonic() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("theirs")
    parser.add_argument("ours")
    parser.add_argument("forker")
    parser.add_argument("--only", default="")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    programs = []
    forker = "" if options.whole else options.forker
    for name, path, how in (("theirs", options.theirs, forker), ("ours", options.ours, "")):
        with open(path, "rb") as file:
            programs.append((name, file.read(), how))
    report = Report(options.verbose)
    chosen = [g for g in cases.GROUPS if re.search(options.only, g.name)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for group in chosen:
            pool.submit(run_group, group, programs, report, options.whole)
    report.table()
    unused = [] if options.only else report.unused()
    return 1 if report.wrong or unused or not report.rows else 0


sys.exit(main())
