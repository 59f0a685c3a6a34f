# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""The figures in the tables of a page, compared with those of `ebpfrec report` for the same window."""
import collections
import csv
import io
import os
import re
import subprocess

ebpfrec = os.environ["EBPFREC"]

# View, table of the page, and for each cell of the page the CLI's column, in the page's order. ^ is a maximum.
TABLES = """Object.fromEntries([...document.querySelectorAll('table[id]')].map((table) => [table.id,
        [...table.tBodies[0].rows].map((row) =>
	[...row.cells].map((cell) => [cell.dataset.column || '', cell.title]))]))"""
VIEWS = [("cpu", "cpu", ["pid", "comm"], ["oncpu_ns", "util_pct", "switches", "preempted"]),
         ("sched", "waits", ["pid", "comm"], ["waits", "wait_ns", "^wait_max_ns"]),
         ("states", "states", ["pid", "comm"], ["life_ns", "running_ns", "runnable_ns", "preempted_ns", "throttled_ns",
                                                "disk_ns", "uninterruptible_ns", "sleeping_ns", "stopped_ns",
                                                "unknown_ns"]),
         ("alloc", "memory", ["pid", "comm", "source"], ["allocs", "frees", "alloc_bytes", "free_bytes", "net_bytes",
                                                         "^peak_bytes", "exit_bytes"]),
         ("io", "io", ["pid", "comm", "device", "op", "submitter", "owner_how"],
          ["ios", "bytes", "iops", "^lat_max_ns", "errors"]),]


def report(trace, view, a, b, *more):
    r = subprocess.run([ebpfrec, "report", "-i", trace, view, *more, "--from", "%d.%09ds" % divmod(a, 10**9), "--to",
                        "%d.%09ds" % divmod(b, 10**9), "--format", "csv", "--limit", "0"], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, text=True, check=True)
    return list(csv.DictReader(io.StringIO(r.stdout)))


def number(text):
    return None if text == "" else float(text)


def compare(tables, trace, a, b):
    """What differs, and how many figures were compared."""
    wrong, figures = [], 0
    for view, table, keys, values in VIEWS:
        names = [v.lstrip("^") for v in values]
        wanted = []
        for r in report(trace, view, a, b):
            if view == "alloc" and r["source"] == "vm":
                continue
            if view == "io" and r["comm"] != "[unknown]":
                r["submitter"] = r["owner_how"] = ""
            key = [r[k][1:] if re.match(r"'[=+@-]", r[k]) else r[k] for k in keys]
            wanted.append(tuple(key) + tuple(number(r[v]) for v in names))
        rest, got = collections.Counter(wanted), []
        for row in tables.get("table-" + table, []):
            ids = {c: number(v) for c, v in row if c}
            got.append((tuple(v for c, v in row if not c or c not in names)[:len(keys)],
                        tuple(ids.get(v) for v in names)))
        named = [k + v for k, v in got if k[1] != "other"]
        for row in named:
            figures += len(names)
            if not rest[row]:
                wrong.append("%s: the page has %s, report does not" % (view, row))
            rest[row] -= 1
        left = [r for r in rest.elements()]
        others = [(k, v) for k, v in got if k[1] == "other"]
        for i, v in enumerate(values):
            if names[i] in ("util_pct", "iops"):
                continue
            figures += 1
            of_rest = [r[len(keys) + i] for r in left if r[len(keys) + i] is not None]
            of_other = [x[i] for k, x in others if x[i] is not None]
            if names[i] == "peak_bytes":  # of several processes the highest are known, not what they had together
                wrong.extend("%s: the page has %s of the others: %s" % (view, v, x) for x in of_other)
                continue
            add = max if v[0] == "^" else sum
            if add(of_rest or [0]) != add(of_other or [0]):
                wrong.append("%s: %s of the others: the page has %s, report %s" %
                             (view, v, add(of_other or [0]), add(of_rest or [0])))
    return wrong, figures


def compare_names(tables, trace, a, b):
    """The same of names that have several processes: what differs from the sums of report over the processes with
    this last name, and how many names there were."""
    wrong, names = [], 0
    for view, table, column in [("cpu", "cpu", "oncpu_ns"), ("sched", "waits", "wait_ns"),
                                ("states", "states", "running_ns")]:
        wanted, got = {}, {}
        for r in report(trace, view, a, b, "--by", "process"):
            comm = re.sub(r"^'(?=[=+@-])", "", r["comm"])
            wanted[comm] = wanted.get(comm, 0) + number(r[column])
        for row in tables["table-" + table]:
            got[row[1][1]] = got.get(row[1][1], 0) + number(dict((c, v) for c, v in row if c)[column])
        names += len(got)
        wrong += ["%s of %s: the page has %s, report %s" % (view, k, v, wanted.get(k)) for k, v in got.items()
                  if k != "other" and wanted.get(k) != v]
        rest = sum(v for k, v in wanted.items() if k not in got)
        if got.get("other", 0) != rest:
            wrong.append("%s of others: the page has %s, report %s" % (view, got.get("other"), rest))
    return wrong, names


def compare_threads(tables, trace, a, b):
    """The same of a page whose rows go by thread: what differs from report --by thread, and how many threads it
    shows."""
    wrong, threads = [], 0
    for view, table, column in [("cpu", "cpu", "oncpu_ns"), ("sched", "waits", "wait_ns"),
                                ("states", "states", "running_ns")]:
        wanted = {}
        for r in report(trace, view, a, b, "--by", "thread"):
            key = (r["pid"], "%s %s" % (re.sub(r"^'(?=[=+@-])", "", r["comm"]), r["tid"]) if r["tid"] else r["comm"])
            wanted[key] = wanted.get(key, 0) + number(r[column])
        got = {}
        for row in tables["table-" + table]:
            key = (row[0][1], row[1][1])
            got[key] = got.get(key, 0) + number(dict((c, v) for c, v in row if c)[column])
        others = sum(v for k, v in got.items() if k not in wanted)
        threads += len(set(got) & set(wanted))
        wrong += ["%s of %s: the page has %s, report %s" % (view, k, v, wanted[k]) for k, v in got.items()
                  if k in wanted and wanted[k] != v]
        if others != sum(v for k, v in wanted.items() if k not in got):
            wrong.append("%s of others: the page has %s, report %s" %
                         (view, others, sum(v for k, v in wanted.items() if k not in got)))
    return wrong, threads


def compare_counts(tables, trace, a, b):
    """PROCESSES of names, with the rows that report has of each: what differs, and how many names there were."""
    wrong, names = [], 0
    for view, table in [("cpu", "cpu"), ("sched", "waits"), ("states", "states")]:
        wanted = collections.Counter(re.sub(r"^'(?=[=+@-])", "", r["comm"]) for r in report(trace, view, a, b))
        for row in tables["table-" + table]:
            name, cnt = row[1][1], row[2][1]
            if name not in ("other", "rest of the machine") and not name.startswith("["):
                names += 1
                if cnt != str(wanted[name]):
                    wrong.append("%s: %s has %s processes, report %d" % (view, name, cnt, wanted[name]))
    return wrong, names
