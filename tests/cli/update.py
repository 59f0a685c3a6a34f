#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
update.py FILE.t DIR: writes into FILE.t what its cases print now.

DIR/N.out, DIR/N.err and DIR/N.rc are what case N gave (from 1 on): output, errors and exit status. Cases that hold
stay as they are. Of what a case wants, lines that still match stay, patterns and "..." included; the rest is
replaced with exact lines. tests/cli/run.sh calls this script for a file of which a case fails.
"""
import fnmatch
import os
import pathlib
import re
import sys

WANTED = re.compile(r"([12])(\.\.\.$|[>~]( |$))")


def matches(wanted, line):
    """Whether a line of output is what "> text" or "~ pattern" (without the number) asks for."""
    kind, text = wanted[0], wanted[2:]
    if kind == ">":
        return text == line
    # bash's [!x] is fnmatch's, its backslash is not
    return re.fullmatch(fnmatch.translate(re.sub(r"\\(.)", r"[\1]", text)), line) is not None


def exact(line):
    return "> " + line if line else ">"


def likeness(a, b):
    """From 0 to 1: how much of two lines is the same at their beginnings and ends."""
    begin = len(os.path.commonprefix([a, b]))
    end = len(os.path.commonprefix([a[begin:][::-1], b[begin:][::-1]]))
    return (begin + end) / max(len(a), len(b), 1)


def merge(wanted, got):
    """The wanted lines that are nearest to the old ones and that accept all of got.

    The cheapest way through both lists: replacing a line costs 1 (less when both are alike), adding one 1, removing
    one 2, so that a changed line is replaced rather than swallowed by a "..." beside it.
    """
    infinite = float("inf")
    n, m = len(wanted), len(got)
    cost = [[infinite] * (m + 1) for _ in range(n + 1)]
    step = [[None] * (m + 1) for _ in range(n + 1)]
    cost[n][m] = 0

    def offer(i, j, to_i, to_j, price, lines):
        if to_i <= n and to_j <= m and cost[to_i][to_j] + price < cost[i][j]:
            cost[i][j] = cost[to_i][to_j] + price
            step[i][j] = (to_i, to_j, lines)

    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if i < n and wanted[i] == "...":
                offer(i, j, i + 1, j, 0, ["..."])
                # run.sh lets "..." end at the first line that matches what comes next
                if i + 1 == n or wanted[i + 1] == "..." or j == m or not matches(wanted[i + 1], got[j]):
                    offer(i, j, i, j + 1, 0, [])
            elif i < n:
                if j < m and matches(wanted[i], got[j]):
                    offer(i, j, i + 1, j + 1, 0, [wanted[i]])
                if j < m:
                    offer(i, j, i + 1, j + 1, 1 - likeness(wanted[i][2:], got[j]) / 2, [exact(got[j])])
                offer(i, j, i + 1, j, 2, [])
            if j < m:
                offer(i, j, i, j + 1, 1, [exact(got[j])])
    lines, i, j = [], 0, 0
    while (i, j) != (n, m):
        i, j, more = step[i][j]
        lines += more
    return lines


def lines_of(path):
    text = path.read_bytes().replace(b"\0", b"").decode("latin-1")
    return text.removesuffix("\n").split("\n") if text else []


class Case:
    """One case of the file, as its lines, and what they want of each stream."""

    def __init__(self, command):
        self.lines = [command]
        self.wanted = {"1": [], "2": []}
        self.status = 0

    def add(self, line):
        found = WANTED.match(line)
        self.lines.append(line)
        if found:
            self.wanted[found[1]].append("..." if found[2] == "..." else line[1:])
        elif line.startswith("? "):
            self.status = int(line[2:])

    def update(self, results, number):
        """Only a case that wants something else changes: status, output and errors come in that order."""
        status = int((results / f"{number}.rc").read_text())
        out = merge(self.wanted["1"], lines_of(results / f"{number}.out"))
        err = merge(self.wanted["2"], lines_of(results / f"{number}.err"))
        if (status, out, err) == (self.status, self.wanted["1"], self.wanted["2"]):
            return
        new = ([f"? {status}"] if status else []) + ["1" + line for line in out] + ["2" + line for line in err]
        old = [i for i, line in enumerate(self.lines) if WANTED.match(line) or line.startswith("? ")]
        at = old[0] if old else 1 + sum(line.startswith("> ") for line in self.lines)
        self.lines = self.lines[:at] + new + [line for i, line in enumerate(self.lines) if i >= at and i not in old]


def main():
    path, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    head, cases = [], []
    for line in path.read_bytes().decode("latin-1").removesuffix("\n").split("\n"):
        if line.startswith("$ "):
            cases.append(Case(line))
        elif cases:
            cases[-1].add(line)
        else:
            head.append(line)
    for number, case in enumerate(cases, 1):
        case.update(results, number)
        head += case.lines
    path.write_bytes(("\n".join(head) + "\n").encode("latin-1"))


main()
