#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
mutate_operators.py [--count N] [--seed S] [--jobs J] [--only PATH] [--at FILE:LINE] [--list]: does a test notice when one operator
of the library is another?

`make mutate` builds the library as a shared object under AddressSanitizer. Each mutant changes one operator in a copy of
the tree (`<` to `<=`, `+` to `-`, `&&` to `||`, a condition turned round), makes that object anew, and runs the unit
tests, the command line tests and those of the format, without a recording, until one fails. The sample is random; its seed is printed.

A change after which the compiler makes the same code is drawn again, and so is one that does not compile. The unit tests
of the changed folder run first, then tests that noticed most so far, short ones before long ones. A test that fails
before it has passed once is tried on the library as it is: one that fails there stops everything. The last lines are the mutants that nobody noticed,
and "N of M noticed". The exit status is 0 when at least 85 % were.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOMS = ["src/model", "src/format", "src/trace", "src/edit", "analyze/context", "analyze/fold", "analyze/views", "analyze/export"]
LEAST_PCT = 85
OWN_WORTH = 10  # a folder's own test counts as one that noticed so many changes of it before
SWAP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "&&": "||", "||": "&&",
        "+=": "-=", "-=": "+="}
OPERATOR = re.compile(r" (%s)(?=[ \n])" % "|".join(re.escape(o) for o in sorted(SWAP, key=len, reverse=True)))
BUILD = "build-san/mutate"


def blank(text):
    """The text with comments, strings and preprocessor lines as spaces, so that places stay."""
    what = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
    return what.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def end_of_parens(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i
    return None


def mutants_of(path):
    """(path, from, to, replacement) for every operator and every condition of a file."""
    code = blank(open(path).read())
    for m in OPERATOR.finditer(code):
        yield path, m.start(1), m.end(1), SWAP[m.group(1)]
    for m in re.finditer(r"\b(?:if|while) (\()", code):
        end = end_of_parens(code, m.start(1))
        if end:
            yield path, m.start(1), end + 1, None


def mutate(text, mutant):
    _, start, end, new = mutant
    return text[:start] + (new or "(!%s)" % text[start:end]) + text[end:]


def describe(mutant):
    path, start, end, _ = mutant
    text = open(path).read()
    line = text.count("\n", 0, start) + 1
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    after = mutate(text, mutant)
    grown = len(after) - len(text)
    return "%s:%d: %s -> %s" % (path, line, " ".join(text[first:last].split()), " ".join(after[first:last + grown].split()))


class Tests:
    """The commands that may notice, in the order that has paid so far."""

    def __init__(self, top):
        self.top = top
        bins = sorted(n for n in os.listdir(os.path.join(top, BUILD, "unit")) if re.fullmatch(r"test_\w+", n))
        self.commands = {n: [os.path.join(BUILD, "unit", n)] for n in bins}
        self.commands["cli"] = ["tests/cli/run.sh"]
        self.commands["answers"] = ["tests/cli/one_answer.py"]
        self.commands["format"] = ["tests/format/run.sh"]
        sources = glob.glob(os.path.join(top, "tests/unit/*/test_*.c"))
        self.folder = {os.path.basename(f)[:-2]: os.path.basename(os.path.dirname(f)) for f in sources}
        self.seconds = {n: 100 if n in ("cli", "answers", "format") else 3 for n in self.commands}
        self.sound, self.kills, self.lock = set(), collections.Counter(), threading.Lock()

    def order(self, path):
        room = os.path.dirname(path)
        with self.lock:
            worth = {n: 1 + self.kills[n, room] + OWN_WORTH * (self.folder.get(n) in room.split("/")) for n in self.commands}
            return sorted(self.commands, key=lambda n: self.seconds[n] / worth[n])

    def passes(self, tree, name, limit_s, tmp):
        env = dict(os.environ, BUILD=os.path.join(tree, BUILD), EBPFREC=os.path.join(tree, BUILD, "ebpfrec"),
                   LD_LIBRARY_PATH=os.path.join(tree, BUILD), ASAN_OPTIONS="detect_leaks=0", FORMAT_REAL="0", TMPDIR=tmp)
        command = ["timeout", "-k", "5", "%d" % limit_s, "bash", "-c", 'ulimit -c 0; exec "$0" "$@"'] + self.commands[name]
        start = time.monotonic()
        passed = subprocess.run(command, cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL).returncode == 0
        with self.lock:
            if passed:
                self.seconds[name] = time.monotonic() - start
                self.sound.add(name)
        return passed

    def noticed_by(self, tree, path):
        tmp = os.path.join(tree, "tmp")
        for name in self.order(path):
            if self.passes(tree, name, 30 + 10 * self.seconds[name] if name in self.sound else 600, tmp):
                continue
            # a test that has not passed yet may fail on the library as it is, and could notice nothing
            if name not in self.sound and not self.passes(self.top, name, 600, tmp):
                sys.exit("mutate: %s fails without any change; mend that first" % name)
            with self.lock:
                self.kills[name, os.path.dirname(path)] += 1
            return name
        return None


def make_tree(top, where):
    """A copy of the tracked files and of the build, for one worker."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=top, capture_output=True, text=True, check=True).stdout.split("\0")
    for f in files:
        if f and os.path.exists(os.path.join(top, f)):
            os.makedirs(os.path.dirname(os.path.join(where, f)), exist_ok=True)
            shutil.copy2(os.path.join(top, f), os.path.join(where, f))
    shutil.copytree(os.path.join(top, BUILD), os.path.join(where, BUILD), symlinks=True)
    os.makedirs(os.path.join(where, "tmp"))


def build(tree, target):
    return subprocess.run(["make", "-s", "MUTATED=1", target], cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def code_of(tree, path):
    """The machine code and data of a file's object; debugging information names other columns of the same code."""
    obj, out = os.path.join(tree, BUILD, path[:-2] + ".o"), os.path.join(tree, "tmp", "code")
    subprocess.run(["objcopy", "-g", obj, out], check=True)
    return open(out, "rb").read()


def judge(tree, tests, mutant):
    """(mutant, what noticed it): None is nobody, False says that it is no mutant."""
    path = os.path.join(tree, mutant[0])
    text, target = open(path).read(), os.path.join(BUILD, "libebpfrec.so")
    before = code_of(tree, mutant[0])
    try:
        open(path, "w").write(mutate(text, mutant))
        if not build(tree, target) or code_of(tree, mutant[0]) == before:
            return mutant, False
        return mutant, tests.noticed_by(tree, mutant[0])
    finally:
        open(path, "w").write(text)
        for name in os.listdir(os.path.join(tree, "tmp")):
            full = os.path.join(tree, "tmp", name)
            shutil.rmtree(full) if os.path.isdir(full) else os.unlink(full)
        build(tree, target)


def all_mutants(top, only, at):
    """Of ROOMS, or of any other part of the library that is named."""
    files = subprocess.run(["git", "ls-files", "src/*.c", "analyze/*.c"], cwd=top, capture_output=True, text=True, check=True)
    named = only or at.split(":")[0]
    found = [m for p in files.stdout.split() if (p.startswith(named) if named else os.path.dirname(p) in ROOMS) for m in mutants_of(p)]
    if at:
        found = [m for m in found if describe(m).startswith(at + ":")]
    return found


def arguments():
    p = argparse.ArgumentParser(description="Changes one operator of the library at a time: does a test notice?")
    p.add_argument("--count", type=int, default=200, help="how many mutants (200)")
    p.add_argument("--seed", type=int, default=int(time.time()), help="of the random sample")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    p.add_argument("--only", default="", help="just of paths that begin so, also outside the usual folders")
    p.add_argument("--at", default="", help="just of FILE:LINE")
    p.add_argument("--list", action="store_true", help="prints the sample and tries nothing")
    return p.parse_args()


def main():
    args = arguments()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.chdir(top)
    pool = all_mutants(top, args.only, args.at)
    random.Random(args.seed).shuffle(pool)
    print("%d places, seed %d" % (len(pool), args.seed), flush=True)
    if args.list:
        print("\n".join(describe(m) for m in pool[:args.count]))
        return 0
    noticed, missed, tests, trees = 0, [], Tests(top), []
    with tempfile.TemporaryDirectory(prefix="ebpfrec-mutate.", dir=os.environ.get("TMPDIR", "/var/tmp")) as scratch:
        for i in range(args.jobs):
            trees.append(os.path.join(scratch, str(i)))
            make_tree(top, trees[i])
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as threads:
            running, free, at = set(), list(trees), 0
            while noticed + len(missed) < args.count and (at < len(pool) or running):
                wanted = args.count - noticed - len(missed)
                while free and at < len(pool) and len(running) < wanted:
                    running.add(threads.submit(lambda t, m: (t, judge(t, tests, m)), free.pop(), pool[at]))
                    at += 1
                done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for tree, (mutant, by) in (f.result() for f in done):
                    free.append(tree)
                    if by is False:
                        continue
                    noticed += by is not None
                    missed += [mutant] if by is None else []
                    print("%s: %s" % (by or "NOBODY", describe(mutant)), flush=True)
    print("\nnobody noticed:" if missed else "")
    for mutant in sorted(missed):
        print("  " + describe(mutant))
    cnt = noticed + len(missed)
    print("%d of %d noticed (%.0f %%), seed %d" % (noticed, cnt, 100 * noticed / max(cnt, 1), args.seed))
    return 0 if cnt and noticed * 100 >= cnt * LEAST_PCT else 1


sys.exit(main())
