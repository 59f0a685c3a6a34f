# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""second_day.py: what user_days.sh looks at, once and in terminals of 80x24 and 120x40."""
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from terminal import screen
from trace_query import EBPFREC, Trace, check, rows_of, run

tmp = os.environ["tmp"]
os.chdir(tmp + "/second")
day = Trace("day")
said = open("said").read()
ALL = [x["view"] for x in json.loads(subprocess.check_output([EBPFREC, "report", "--list", "--format", "json"]))]
WHOLE_MACHINE = ("devices", "throttle", "loss", "cost", "bins")    # these take no --comm
MAN = open(os.path.join(os.path.dirname(os.path.dirname(os.environ["PYTHONPATH"])), "cmd/ebpfrec-report.1")).read()


def ask(*args):
    return subprocess.run([EBPFREC, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True).stdout


def answer(*args):
    return json.loads(subprocess.run([EBPFREC, *args, "--format", "json"], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True).stdout)


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1].replace(",", "")) if found else None


# ---- data and figures ----

def figures():
    """A figure that stands in several places is the same in all; cli/one_answer.py compares many more."""
    summary = {sel: answer("report", "-i", "day", *sel) for sel in ((), ("--comm", "busy_threads"))}
    whole, part = summary.values()
    check("second day: the summary in JSON is an object of sections with rows",
          all(isinstance(x, dict) and all(isinstance(rows, list) for rows in x.values()) for x in summary.values())
          and "CPU by name" in whole, list(whole)[:9])
    machine = [x["Machine"][0] for x in (whole, part)]
    lacking = {k for k in machine[0] if machine[1].get(k) not in (machine[0][k], None)}
    check("second day: the machine's row is the machine, whoever is picked", not lacking, (machine, lacking))
    cut = answer("report", "-i", "cut")["Machine"][0]
    part_of = {k: v for k, v in cut.items() if v is not None and k in ("cpu_busy_pct", "rss_peak_bytes")}
    check("second day: of a part of the processes, the machine's row knows no machine", not part_of, cut)
    by_cpu = day.report("cpu", "--by", "cpu")
    busy = sum(r["util_pct"] for r in by_cpu) / len(by_cpu)
    text = " ".join(ask("report", "-i", "day", "cpu", "--by", "cpu").split())
    check("second day: OTHER and UNKNOWN are explained where they stand", "UNKNOWN (the running task is unknown" in text
          and "OTHER (the recorder" in text, text)
    check("second day: the machine is busy as its CPUs are", abs(busy - machine[0]["cpu_busy_pct"]) < 0.02,
          (busy, machine[0], by_cpu))
    counts = {"record": number(r"([0-9,]+) events", said), "check": number(r"whole: .*, ([0-9,]+) events",
        ask("check", "-i", "day")), "info": number(r"(?m)^  all +([0-9,]+)$", ask("info", "-i", "day")),
              "loss": sum(r["read"] for r in day.report("loss"))}
    check("second day: record, check, info and loss count as many events", len(set(counts.values())) == 1, counts)
    for view in ("latency", "parallel"):
        rows = day.report(view, "--histogram")
        low, high = ("low_ns", "high_ns") if view == "latency" else ("busy", "busy")
        gaps = [(a, b) for a, b in zip(rows, rows[1:]) if [a.get(k) for k in ("device", "op", "phase")] == [b.get(k)
            for k in ("device", "op", "phase")] and (a[high] != b[low] if view == "latency" else a[high] + 1 != b[low])]
        check("second day: %s --histogram has all steps between the first and the last" % view, rows and not gaps,
              gaps[:2])
    tree = [re.match(r" *[0-9]+  ( *)(\S+)", x).groups() for x in ask("info", "--tree", "-i", "day").splitlines()
            if re.match(" *[0-9]+  ", x)]
    at = [i for i, (space, name) in enumerate(tree) if name == "Xorg"]
    parents = [next((name for space, name in tree[i::-1] if len(space) == len(tree[i][0]) - 1), None) for i in at]
    check("second day: info --tree has each process below its parent", parents and set(parents) == {"sh"},
          (parents, tree[-9:]))


def names():
    """Columns of --wide-by are names, of whatever a column of ours is called."""
    args = ["report", "-i", "day", "cpu", "--every", "500ms", "--wide-by", "comm"]
    rc, lines = screen(4000, 40, *args)
    heads = lines[2].split()
    check("second day: names keep their case as headings", "Xorg" in heads and "busy_threads" in heads, heads)
    rc, lines = screen(80, 24, *args, "--limit", "2")
    check("second day: --wide-by says what its columns are, and shows all bins",
          any(re.match(r"The columns are %CPU by comm, the first 2 of [0-9]+ ", x) for x in lines)
          and not any(" more: " in x for x in lines), lines)


def diff():
    subprocess.run([EBPFREC, "record", "-f", "-o", "other", "--", "sh", "-c", "head -c 1M /dev/zero | sha256sum"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = answer("diff", "day", "other")
    wall = [r for r in rows if r["metric"] == "wall_ns"]
    bare = [r for r in rows if r["verdict"] == "same" and not r["reason"] and abs(r["change_pct"] or 0) >= 10]
    check("second day: diff gives programs the reason, too", not bare, bare[:2])
    check("second day: diff knows how long the commands took", wall and wall[0]["a"] and wall[0]["b"], wall)


def files():
    """Every command that writes a file says its name and size; none that fails on a full disk says that something
    is kept."""
    mute = []
    for line in ("cut -i day -o cut --comm busy_threads", "bundle -i day -o b.zip", "redact -i day -o red",
                 "repair -i day -o rep", "export -i day --to html -o p.html", "export -i day --to sqlite -o s.db",
                 "export -i day --to perfetto -o p.pft", "export -i day --to openmetrics --every 1s -o o.txt",
                 "export -i day --to csv -o csv", "export -i day --to parquet -o pq", "report -i day cpu --db r.db"):
        words = shlex.split(line)
        name = words[words.index("-o" if "-o" in words else "--db") + 1]
        p = subprocess.run([EBPFREC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           stdin=subprocess.DEVNULL)
        if p.returncode or not re.search(r"%s: .*[0-9] (k|M)?B\b" % re.escape(name), p.stderr):
            mute.append((line, p.returncode, p.stderr))
    check("second day: who writes a file says its name and size", not mute, mute)
    if "small" not in os.environ:
        return
    kept = []
    for line in ("cut -i day -o %s/c", "bundle -i day -o %s/b.zip", "redact -i day -o %s/r"):
        p = subprocess.run([EBPFREC, *shlex.split(line % os.environ["small"])], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        if not p.returncode or "is kept" in p.stdout or "No space left" not in p.stdout:
            kept.append((line, p.stdout))
    check("second day: on a full disk, nothing is said to be kept that is not", not kept, kept)


# ---- output on a terminal ----

MISTAKES = {"report -i day cpu --every 100": "write 100ms or 100s", "report -i day cpu --limit -1": "is no number of "
            "rows; 0 is for all", "record -e +irq -- true": "did you mean 'sched.irq'",
            "report -i day cpu --comm busy_thread": "did you mean 'busy_threads'",
            "report -i day cpu --from 99s": "the trace has 0 ..", "report -i day cpu --by proces": "did you mean "
            "'process'", "report -i day cpu --until 100millis": "is not a time",
            "report -i day cup": "did you mean 'cpu'", "report -i day --form csv": "did you mean '--format'",
            "report -i day io --by vector": "it takes --by", "cut -i day --from 1s": "-o NEW is needed"}


def look(width, height):
    name = "second day, %dx%d: " % (width, height)
    long, faults = [], {"sign": [], "asks": [], "twice": [], "word": []}

    def see(*argv):
        rc, lines = screen(width, height, *argv)
        long.extend((argv, x) for x in lines if len(x) > width)
        return rc, lines

    def view_of(view):
        rc, lines = see("report", "-i", "day", view, *(() if view in WHOLE_MACHINE else ("--comm", "busy_threads")))
        text = " ".join(" ".join(lines).split())
        notes = [x for x in lines if re.match(r"[A-Z][a-z]", x)]
        rows = [x for x in lines if "busy_threads" in x and not x.startswith("(")]
        faults["sign"] += [(view, x) for x in lines if re.search(r"\w~( |$)", x)]
        faults["word"] += [(view, x) for x in lines if "UTIL %" in x]
        faults["asks"] += [(view, x) for x in re.findall(r"`ebpfrec record [^`]*`[^.]* records? (?:them|some)", text)
                           if rows and view not in ("growth", "leaks")]
        faults["twice"] += [(view, x) for x in notes if notes.count(x) > 1
                            and len(x) > 20] + [(view, text)] * (text.count("--notes") > 1)
        faults["asks"] += [(view, text[-300:])] * bool(re.search(r"; give --pid|--pid, --comm, --tid, --thread or "
                                                                 r"--during( (to )?selects? threads)?\.", text)
                                                       and view not in WHOLE_MACHINE)
        return rc
    with ThreadPoolExecutor(2) as pool:
        failed = [v for v, rc in zip(ALL, pool.map(view_of, ALL)) if rc]
    check(name + "every view answers for one name", not failed, failed)
    check(name + "what is cut ends with a sign of its own", not faults["sign"], faults["sign"][:3])
    check(name + "nobody is asked to record what is there, or to pick whom they picked", not faults["asks"],
          faults["asks"][:3])
    check(name + "CPU time is called the same everywhere", not faults["word"], faults["word"][:3])
    check(name + "no note stands there twice", not faults["twice"], faults["twice"][:2])

    rc, lines = see("report", "-i", "day")
    heads = [i for i, x in enumerate(lines) if x in ("CPU by name", "Waiting by name", "Memory by name",
                                                     "Block I/O by name")]
    ends = [next(j for j in range(i, len(lines) + 1) if j == len(lines) or not lines[j]) for i in heads]
    said = [bool(re.fullmatch(r"\([0-9,]+ more: ebpfrec report [a-z]+ --by comm[^)]*\)", lines[j - 1])) for j in ends]
    if not said[-1]:    # few programs may do block I/O: all of them are there
        every = run("report", "io", "--by", "comm", "--workload", "-i", "day", "--format", "csv", "--limit", "0")
        said[-1] = ends[-1] - heads[-1] - 2 == len(rows_of(every))
    check(name + "every section of the summary that was cut says where the rest is", all(said),
          [lines[j - 1] for j in ends])
    block = [x.split() for x in lines[heads[-1] + 2:ends[-1]]]
    check(name + "who discards does not lead block I/O", block and block[0][2] != "discard", block)
    rc, lines = see("report", "-i", "day", "why", "--comm", "python3")
    told = re.findall(r"(?m)^\.B (In short|Waited for|States|Waited longest|Ran instead|Woken by|Memory|Path)$",
                      MAN) or ["In short", "Waited for", "States", "Waited longest", "Ran instead", "Woken by",
                               "Memory", "Path"]
    check(name + "why shows the sections that its manual names", not [x for x in told if x not in lines],
          [x for x in told if x not in lines])
    locks = see("report", "-i", "day", "locks", "--comm", "python3")[1]
    short = [x for x in locks[3:] if re.search(r"python3 +[0-9a-f]+…", x)]
    check(name + "which lock it is stands there whole", len(locks) > 4 and not short, short)
    head = see("report", "-i", "day", "io")[1][2]
    check(name + "counts come before rates", "IOS" in head and "BYTES" in head and "LAT MAX" in head, head)
    files = [x for x in see("report", "-i", "day", "io", "--by", "file,process")[1] if "…" in x.split("  ")[0]]
    check(name + "a path is shortened in its middle", not [x for x in files if x.split("  ")[0].endswith("…")],
          files[:2])

    answers = [(line, want, see(*shlex.split(line))) for line, want in MISTAKES.items()]
    useless = [(line, rc, lines) for line, want, (rc, lines) in answers if not rc
               or want not in " ".join(" ".join(lines).split())]
    check(name + "%d mistakes get a useful answer" % len(answers), not useless, useless[:2])
    rc, lines = see("diff", "day", "other", "--limit", "0")
    bare = [x for x in lines if re.search(r"[+-][0-9]*[1-9][0-9]\.[0-9] +same( |$)|small: [0-9.]*…", x)]
    check(name + "diff says why a figure that has changed is the same", rc == 0 and not bare, bare[:3])
    rc, lines = see("record", "-f", "-o", "closing", "--", "true")
    says = [x for x in lines if x.startswith("ebpfrec: ") and " is now " not in x]
    text = " ".join(" ".join(lines).split())
    check(name + "the closing lines are three, each figure with its name", rc == 0 and len(says) == 3
          and re.search(r" [0-9,]+ events \(.*\), 0 lost .* recorded: .* written: .* cost: recorder .* kernel "
                        r"programs about .* memory ", text), lines)
    cost = Trace("closing").report("cost")
    for part, called in (("recorder", "recorder"), ("kernel", "programs about")):
        figure = re.search(called + " ([0-9.]+) (us|ms|s) ", text)
        ns, got = sum(r["cpu_ns"] for r in cost if r["part"] == part), float(figure[1]) * {"us": 1e3, "ms": 1e6,
            "s": 1e9}[figure[2]]
        check(name + "the closing lines have what report cost says of the " + part, abs(got - ns) <= 0.006 * ns,
              (got, ns, cost))
    commands = [""] + re.findall(r"(?m)^  ([a-z]+) ", ask("--help"))
    for command in commands:
        see(*([command] if command else []), "--help")
    for line in ("report --list", "record -e list", "doctor --all", "export --list", "metrics --list", "version",
                 "sql -i day --schema", "sql -i day 'SELECT * FROM threads LIMIT 1'", "info -i day",
                 "info --tree -i day", "check -i day", "diff day other", "report -i day cpu --every 100ms",
                 "report -i day io --phases", "report -i day totals --every 100ms"):
        see(*shlex.split(line))
    check(name + "no line is longer than the terminal", not long, long[:4])


files()
figures()
names()
diff()
look(80, 24)
look(120, 40)
