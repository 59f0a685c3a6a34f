#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
mutate_operators.py [--count N] [--seed S] [--from N] [--jobs J] [--only PATH] [--at FILE:LINE] [--list]: does a test
notice when one operator of the library is another?

`make mutate` builds the library as a shared object that notes which of its code runs (mutate_reached.c). Every unit
test, every case of the command line tests, the comparisons of answers and the test of the format run once;
build-san/mutate/reached.json keeps which lines each of them reaches, until a program or one of these tests changes.
What then takes more than 60 s of CPU time or fails is named and left out.

Each mutant changes one operator in a copy of the tree (`<` to `<=`, `+` to `-`, `&&` to `||`, a condition turned
round), makes that object anew, and runs the tests that reach its lines, up to the first that fails: those first that
noticed most so far in the folder, and short ones before long ones. Then those that reach its function, since the
compiler may have put the code of a line among that of others. A case of the command line tests that fails is tried with
the same choice of cases on the library as it is. What no test reaches is noticed by nobody. The sample is random; its
seed is printed. A change after which the compiler makes the same code is drawn again, and so is one that does not
compile; which of two equal values is the smaller one is not asked. Any change of an operator of the library makes the
sample of a seed another one. --from 101 leaves out the first 100 places of the sample.

Mutants that nobody noticed are tried once more, with the library and the tests built with AddressSanitizer: it notices
reads and writes outside of memory, and memory that is never freed. The last lines are the mutants that nobody noticed
then, and "N of M noticed". The exit status is 0 when at least 85 % were.
"""
import argparse
import bisect
import collections
import concurrent.futures
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOMS = ["src/model", "src/format", "src/trace", "src/edit", "analyze/context", "analyze/fold", "analyze/views",
         "analyze/export"]
LEAST_PCT = 85
OWN_WORTH = 10  # a folder's own test counts as one that noticed so many changes of it before
SWAP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "&&": "||", "||": "&&",
        "+=": "-=", "-=": "+="}
OPERATOR = re.compile(r" (%s)(?=[ \n])" % "|".join(re.escape(o) for o in sorted(SWAP, key=len, reverse=True)))
# a < b ? a : b, and if (a < b) b = a: of two equal values it does not matter which one is taken
EXTREMES = [re.compile(r"(?:(?<=[(,?:=&|] )|(?<=\()|(?<=return ))((?:[\w.\[\]()*+/ &]|->)+?) (<|>|<=|>=) ([^;?,]+?) \? "
                       r"(?:\1 : \3|\3 : \1)(?= *(?:[;,)]|&&|\|\|))"),
            re.compile(r"\bif \((?:[^;{}]*?(?:\|\||&&)\s+)?((?:[\w.\[\]*]|->)+) (<|>|<=|>=) ((?:[\w.\[\]*]|->)+)\)\s+"
                       r"(?:\1 = \3|\3 = \1);(?!\s*else\b)")]
BUILD, WATCHED = "build-san/mutate", "build-san/mutate-address"
ANSWERS = ["chaotic", "damaged", "lossy", "partial"]
LONGEST_S = 60  # of CPU time for a process
WATCHED_TIMES = 4  # as long where AddressSanitizer watches
# random traces of tests that make many; the second one of test_folds is unfinished
SEEDS = {"test_cut": 2, "test_folds": 2}
CALL_BYTES = 5  # a call of x86-64: the code of a block begins with one
WRITES = re.compile(r" -o |(?<!2)>|\b(?:gen_|cp|mv|rm|mkdir|touch|ln|sed -i|mark|update)\b|gen_")


def blank(text):
    """The text with comments, strings and preprocessor lines as spaces, so that places stay."""
    what = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                      re.S | re.M)
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
    same = {m.start(2) for e in EXTREMES for m in e.finditer(code)}
    for m in OPERATOR.finditer(code):
        if m.start(1) not in same:
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
    return "%s:%d: %s -> %s" % (path, line, " ".join(text[first:last].split()),
                                " ".join(after[first:last + grown].split()))


def compiled_lines():
    """({"file.c:12": blocks of its code}, where each block begins); names of C files are unique, but for their
    folders."""
    def objdump(*options):
        args = ["objdump", "-w", *options, os.path.join(BUILD, "libebpfrec.so")]
        return subprocess.run(args, capture_output=True, text=True, check=True).stdout.splitlines()

    starts, called = [], False
    for line in objdump("-d", "--no-show-raw-insn"):
        place = re.match(r" *([0-9a-f]+):\t", line)
        if called and place:
            starts.append(int(place.group(1), 16))
        called = place and "call" in line and "__sanitizer_cov_trace_pc" in line
    rows = [re.match(r"(\S+) +(\d+|-) +0x([0-9a-f]+)", line) for line in objdump("--dwarf=decodedline")]
    rows = [(int(r.group(3), 16), r.group(1), r.group(2)) for r in rows if r]
    lines = collections.defaultdict(set)
    for (at, name, line), (after, _, _) in zip(rows, rows[1:]):
        if line != "-":
            first = bisect.bisect_right(starts, at + CALL_BYTES) - 1
            lines[name + ":" + line].update(range(first, max(first + 1, bisect.bisect_left(starts, after))))
    return lines, starts


def cli_cases():
    """{"report.3": (what it is called, whether it may leave files that later cases of report.t read)}"""
    cases = {}
    for path in sorted(glob.glob("tests/cli/*.t")):
        stem = os.path.basename(path)[:-2]
        for i, command in enumerate(re.findall(r"(?m)^\$ (.*)", open(path).read()), 1):
            cases["%s.%d" % (stem, i)] = stem + ": " + command, bool(WRITES.search(command))
    return cases


class Tests:
    """The commands that may notice, which of them reach a line, and the order that has paid so far."""

    def __init__(self, jobs):
        bins = sorted(n for n in os.listdir(os.path.join(BUILD, "unit")) if re.fullmatch(r"test_\w+", n))
        self.commands = {n: [os.path.join(BUILD, "unit", n)] for n in bins}
        self.commands.update({"answers " + kind: ["tests/cli/one_answer.py", kind] for kind in ANSWERS})
        self.commands.update({"format": ["tests/format/run.sh"], "cli": ["tests/cli/run.sh"]})
        sources = glob.glob("tests/unit/*/test_*.c")
        self.folder = {os.path.basename(f)[:-2]: os.path.basename(os.path.dirname(f)) for f in sources}
        self.kills, self.lock, self.build, self.times = collections.Counter(), threading.Lock(), BUILD, 1
        self.cases, self.sound, self.whole = cli_cases(), set(), set()
        kept = os.path.join(BUILD, "reached.json")
        inputs = [os.path.join(BUILD, "libebpfrec.so"), os.path.join(BUILD, "ebpfrec"), *glob.glob("tests/cli/*"),
                  *glob.glob("tests/format/*")]
        inputs += [c[0] for c in self.commands.values()]
        if not os.path.exists(kept) or os.path.getmtime(kept) < max(map(os.path.getmtime, inputs)):
            with concurrent.futures.ThreadPoolExecutor(jobs) as threads, tempfile.TemporaryDirectory() as tmp:
                json.dump(self.look(threads, tmp), open(kept, "w"))
        self.seconds, self.reached = json.load(open(kept))
        left_out = sorted(n for n in self.commands if self.seconds[n] is None)
        print("left out, for they take more than %d s or fail: %s" % (LONGEST_S, " ".join(left_out) or "none"))
        for name in left_out:
            del self.commands[name]

    def look(self, threads, tmp):
        """(CPU seconds of each test, which tests reach each line)"""
        def one(name):
            os.makedirs(os.path.join(tmp, name, "tmp"))
            more = {"REACHED": os.path.join(tmp, name)} if name == "cli" else {"MUTATE_REACHED": os.path.join(tmp, name,
                name)}
            wrong, seconds = self.run(".", name, 1800, os.path.join(tmp, name, "tmp"), more)
            if wrong and seconds < 0.9 * LONGEST_S:
                print("%s fails without any change, and is left out: %s" % (name, wrong), flush=True)
            shutil.rmtree(os.path.join(tmp, name, "tmp"))
            return name, None if wrong else seconds

        print("looking which tests reach which lines", flush=True)
        seconds = dict(threads.map(one, sorted(self.commands, key=lambda n: n.startswith("test_"))))
        lines, starts = compiled_lines()
        of_mark, of_block = {start // 4: i for i, start in enumerate(starts)}, collections.defaultdict(set)
        for path in glob.glob(os.path.join(tmp, "*", "*")):
            for mark in re.finditer(b"\1", open(path, "rb").read()):
                of_block[of_mark.get(mark.start())].add(os.path.basename(path))
        return seconds, {line: sorted(set().union(*(of_block[b] for b in blocks))) for line, blocks in lines.items()}

    def watch(self):
        """From now on AddressSanitizer watches. A test that fails with it on the library as it is notices nothing."""
        self.build, self.times, self.sound = WATCHED, WATCHED_TIMES, set()
        self.commands.update({n: [os.path.join(WATCHED, "unit", n)] for n in self.commands if n in self.folder})

    def is_sound(self, name, tmp):
        if self.build == WATCHED and name not in self.sound:
            wrong = self.run(".", name, 1800, tmp, {})[0]
            if wrong:
                print("%s fails with AddressSanitizer without any change, and notices nothing: %s" % (name, wrong),
                      flush=True)
                return False
            self.sound.add(name)
        return True

    def run(self, tree, name, limit_s, tmp, more):
        """(what is wrong or None, CPU seconds); it ends with the first test that fails."""
        build = os.path.abspath(os.path.join(tree, self.build))
        env = dict(os.environ, BUILD=build, EBPFREC=os.path.join(build, "ebpfrec"), LD_LIBRARY_PATH=build,
                   MALLOC_PERTURB_="165", FORMAT_REAL="0", TMPDIR=tmp, **more)
        if name in SEEDS:
            env["EBPFREC_TEST_SEEDS"] = str(SEEDS[name])
        command = ["timeout", "-k", "5", "%d" % (limit_s * self.times), "bash", "-c",
                   'ulimit -c 0 -t %d; exec "$0" "$@"' % (LONGEST_S * self.times)] + self.commands[name]
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(command, cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True)
            pid = process.pid
            ended = wrong = None
            while not ended:
                time.sleep(0.05)
                done, status, used = os.wait4(pid, os.WNOHANG)
                ended = done == pid
                bad = re.search(rb"(?m)^(?:not ok (.*)|\[  FAILED  \].*)", os.pread(out.fileno(), 1 << 24, 0))
                if bad or ended and status:
                    wrong = bad.group(1 if bad.group(1) else 0).decode("utf-8",
                        "replace") if bad else "status %d: %s" % (status, os.pread(out.fileno(), 1 << 24, 0)[-300:])
                if bad and not ended:
                    os.killpg(pid, signal.SIGKILL)
                    os.wait4(pid, 0)
                    break
            process.returncode = 0  # it was waited for
        return wrong, used.ru_utime + used.ru_stime

    def reaching(self, mutant, of_function=False):
        """The tests that reach the lines of a mutant, or its function; without code there, for a table, those that
        reach its file."""
        path, start, end, _ = mutant
        text, name = open(path).read(), os.path.basename(path)
        if of_function and text.rfind("\n{\n", 0, start) > text.rfind("\n}\n", 0, start):
            start, end = text.rfind("\n{\n", 0, start), text.find("\n}\n", end)
        first, last = (text.count("\n", 0, at) + 1 for at in (start, end))
        lines = {"%s:%d" % (name, i) for i in range(first, last + 1)} & self.reached.keys()
        return set().union(*(self.reached[i] for i in lines or [i for i in self.reached if i.startswith(name + ":")]))

    def chosen(self, reaching):
        """The cases that reach, those that may have left them files, and those that may read what they leave."""
        stems, chosen, wrote = {c.split(".")[0] for c in reaching}, [], set()
        for case, (_, writes) in self.cases.items():
            stem = case.split(".")[0]
            if case in reaching and writes:
                wrote.add(stem)
            if case in reaching or stem in stems and (writes
                                                      or stem in self.whole) or stem in wrote or "golden" in reaching:
                chosen.append(case)
        rest = ["examples", "queries", "options", "sql_shell", "mcp", "metrics_growing"]
        return chosen + [n for n in rest if n in reaching or "golden" in reaching]

    def cli_notices(self, tree, reaching, tmp):
        """A case may want one that was not chosen: it is tried with the same choice on the library as it is."""
        while True:
            cases = self.chosen(reaching)
            wrong, _ = self.run(tree, "cli", 60 + len(cases), tmp, {"ONLY": " ".join(cases)})
            failed = next((c for c in cases if wrong and c in self.cases and wrong.startswith(self.cases[c][0])), None)
            if failed is None or failed in self.sound:
                return wrong
            before = [c for c in cases[:cases.index(failed) + 1] if c.split(".")[0] == failed.split(".")[0]]
            if not self.run(".", "cli", 120, tmp, {"ONLY": " ".join(before)})[0]:
                self.sound.add(failed)
                return wrong
            self.whole.add(failed.split(".")[0])

    def noticed_by(self, tree, mutant):
        """The name of a test that fails; None: nobody noticed; "": no test reaches it."""
        room, tmp = os.path.dirname(mutant[0]), os.path.join(tree, "tmp")
        tried, tried_cases = set(), set()
        for reaching in self.reaching(mutant), self.reaching(mutant, of_function=True):
            cases = self.chosen(reaching)
            with self.lock:
                cost = dict(self.seconds, cli=1 + self.seconds["cli"] * len(cases) / len(self.cases))
                worth = {n: 1 + self.kills[n, room] + OWN_WORTH * (self.folder.get(n) in room.split("/"))
                         for n in self.commands}
            names = [n for n in self.commands if n in reaching - tried or n == "cli" and set(cases) - tried_cases]
            for name in sorted(names, key=lambda n: cost[n] / worth[n]):
                wrong = self.cli_notices(tree, reaching, tmp) if name == "cli" else self.run(tree, name,
                    60 + 20 * cost[name], tmp, {})[0]
                if wrong and (name == "cli" or self.is_sound(name, tmp)):
                    with self.lock:
                        self.kills[name, room] += 1
                    return name
            tried.update(names)
            tried_cases.update(cases)
        return None if tried else ""


def make_tree(top, where, build):
    """A copy of the tracked files and of a build, for one worker."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=top, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    for f in files:
        if f and os.path.exists(os.path.join(top, f)):
            os.makedirs(os.path.dirname(os.path.join(where, f)), exist_ok=True)
            shutil.copy2(os.path.join(top, f), os.path.join(where, f))
    shutil.copytree(os.path.join(top, build), os.path.join(where, build), symlinks=True)
    os.makedirs(os.path.join(where, "tmp"))


def make(tree, build, *targets):
    args = ["make", "-s", "MUTATED=1", *(["SAN=address"] if build == WATCHED else []), *targets]
    return subprocess.run(args, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def code_of(tree, obj):
    """The machine code and data of a file's object; debugging information names other columns of the same code."""
    out = os.path.join(tree, "tmp", "code")
    subprocess.run(["objcopy", "-g", obj, out], check=True)
    return open(out, "rb").read()


def judge(tree, tests, mutant):
    """(mutant, what noticed it): None is nobody, ""that no test reaches it, False says that it is no mutant."""
    path, target = os.path.join(tree, mutant[0]), os.path.join(tests.build, "libebpfrec.so")
    obj = os.path.join(tree, tests.build, mutant[0][:-2] + ".o")
    changed = [path, os.path.join(tree, target), obj]
    for i, name in enumerate(changed):
        shutil.copy2(name, os.path.join(tree, "kept.%d" % i))
    before, text = code_of(tree, obj), open(path).read()
    try:
        open(path, "w").write(mutate(text, mutant))
        if not make(tree, tests.build, target) or code_of(tree, obj) == before:
            return mutant, False
        return mutant, tests.noticed_by(tree, mutant)
    finally:
        for i, name in enumerate(changed):
            shutil.copy2(os.path.join(tree, "kept.%d" % i), name)
        shutil.rmtree(os.path.join(tree, "tmp"), ignore_errors=True)
        os.makedirs(os.path.join(tree, "tmp"), exist_ok=True)


def all_mutants(top, only, at):
    """Of ROOMS, or of any other part of the library that is named."""
    files = subprocess.run(["git", "ls-files", "src/*.c", "analyze/*.c"], cwd=top, capture_output=True, text=True,
                           check=True)
    named = only or at.split(":")[0]
    found = [m for p in files.stdout.split() if (p.startswith(named) if named else os.path.dirname(p) in ROOMS)
             for m in mutants_of(p)]
    if at:
        found = [m for m in found if describe(m).startswith(at + ":")]
    return found


def arguments():
    p = argparse.ArgumentParser(description="Changes one operator of the library at a time: does a test notice?")
    p.add_argument("--count", type=int, default=200, help="how many mutants (200)")
    p.add_argument("--seed", type=int, default=int(time.time()), help="of the random sample")
    p.add_argument("--from", dest="first", type=int, default=1, help="begin at this place of the sample (1)")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    p.add_argument("--only", default="", help="just of paths that begin so, also outside the usual folders")
    p.add_argument("--at", default="", help="just of FILE:LINE")
    p.add_argument("--list", action="store_true", help="prints the sample and tries nothing")
    return p.parse_args()


def try_all(top, tests, jobs, pool, count):
    """(those that were noticed, those that were not), of the first count mutants of the pool."""
    noticed, missed, trees = [], [], []
    with tempfile.TemporaryDirectory(prefix="ebpfrec-mutate.", dir=os.environ.get("TMPDIR", "/tmp")) as scratch:
        for i in range(jobs):
            trees.append(os.path.join(scratch, str(i)))
            make_tree(top, trees[i], tests.build)
        with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
            running, free, at = set(), list(trees), 0
            while len(noticed + missed) < count and (at < len(pool) or running):
                wanted = count - len(noticed + missed)
                while free and at < len(pool) and len(running) < wanted:
                    running.add(threads.submit(lambda t, m: (t, judge(t, tests, m)), free.pop(), pool[at]))
                    at += 1
                done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for tree, (mutant, by) in (f.result() for f in done):
                    free.append(tree)
                    if by is False:
                        continue
                    (noticed if by else missed).append(mutant)
                    print("%s: %s" % (by or ("NOBODY" if by is None else "NOBODY, no test reaches it"),
                                      describe(mutant)), flush=True)
    return noticed, missed


def main():
    args = arguments()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.chdir(top)
    pool = all_mutants(top, args.only, args.at)
    random.Random(args.seed).shuffle(pool)
    pool = pool[args.first - 1:]
    print("%d places, seed %d" % (len(pool), args.seed), flush=True)
    if args.list:
        print("\n".join(describe(m) for m in pool[:args.count]))
        return 0
    tests = Tests(args.jobs)
    noticed, missed = try_all(top, tests, args.jobs, pool, args.count)
    if missed:
        print("\n%d of %d noticed; the others with AddressSanitizer" % (len(noticed), len(noticed + missed)),
              flush=True)
        if not make(top, WATCHED, "all", "unit"):
            print("the build with AddressSanitizer fails: make MUTATED=1 SAN=address all unit")
            return 1
        tests.watch()
        more, _ = try_all(top, tests, args.jobs, missed, len(missed))
        noticed, missed = noticed + more, [m for m in missed if m not in more]
    cnt = len(noticed + missed)
    print("\nnobody noticed:" if missed else "")
    for mutant in sorted(missed):
        print("  " + describe(mutant))
    print("%d of %d noticed (%.0f %%), seed %d" % (len(noticed), cnt, 100 * len(noticed) / max(cnt, 1), args.seed))
    return 0 if cnt and len(noticed) * 100 >= cnt * LEAST_PCT else 1


sys.exit(main())
