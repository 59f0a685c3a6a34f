# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""consumers.py EBPFREC DIR: compares the figures of each consumer with those of report, for the traces of DIR.
Prints "ok
NAME" or "not ok NAME: what differs"."""
import base64
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.request
import zlib

PROGRAM, DIR = sys.argv[1:3]
TRACES = "golden stacks late lost who threads waits heap damaged open empty".split()
failed = 0


def run(*argv, **more):
    return subprocess.run([PROGRAM, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def total(rows, column, **only):
    return sum(int(r[column] or 0) for r in rows if all(r[k] == v for k, v in only.items()))


def of_report(trace, window, form, *more):
    """What report says, in one of its formats."""
    def view(name, *options):
        text = run("report", name, "-i", trace, "--format", form, *window, *more, *options).stdout
        return rows_of(text) if form == "csv" else [json.loads(x)
                                                    for x in text.splitlines()] if form == "jsonl" else json.loads(text
                                                            or "[]")
    cpu, requests, memory = view("cpu", *["--with-idle"] * bool(more)), view("io"), view("alloc")
    return {"switches": total(cpu, "switches"), "requests": total(requests, "ios"), "bytes": total(requests, "bytes"),
            "slab": total(memory, "alloc_bytes", source="slab")}


def of_tables(rows):
    """The same from rows of events. rows(table): dicts."""
    requests = [r for r in rows("block_requests") if r["end_ns"] not in ("", None)]
    return {"switches": len(rows("switches")), "requests": len(requests), "bytes": total(requests, "bytes"),
            "slab": total(rows("slab_allocs"), "bytes")}


def of_sql(trace, window):
    a, z = window[1::2] or ("0s", "9000000s")
    a, z = (int(float(x[:-1]) * 1e9) for x in (a, z))
    when = {"block_requests": "end_ns"}
    return of_tables(lambda table: rows_of(run("sql", "-i", trace, "--format", "csv",
                                               "SELECT * FROM %s WHERE %s >= %d AND %s < %d" % (
        table, when.get(table, "ts_ns"), a, when.get(table, "ts_ns"), z)).stdout))


def of_files(trace, window, form):
    out = "%s.%s" % (trace, form)
    run("export", "-q", "-f", "-i", trace, "--to", form, "-o", out, *window, check=True)
    if form == "sqlite":
        db = sqlite3.connect(out)
        db.row_factory = sqlite3.Row
        return of_tables(lambda table: db.execute("SELECT * FROM " + table).fetchall()), dict(
                map(tuple, db.execute("SELECT * FROM export_info")))
    def rows(table):
        text = open("%s/%s.%s" % (out, table, form), encoding="utf-8").read()
        return rows_of(text) if form == "csv" else json.loads(text)
    return of_tables(rows), {r["key"]: r["value"] for r in rows("export_info")}


def of_page(data):
    """The sums of the data of a page or of the viewer, whose texts are numbers."""
    r, texts = data["results"], data["texts"]
    padded = lambda name, column: r[name][column] + [0] * (max(len(c) for c in r[name].values()) - len(r[name][column]))
    memory = sum(v for v, source in zip(padded("memory", "alloc_bytes"), padded("memory", "source"))
                 if texts[source] == "slab")
    return {"switches": sum(padded("cpu", "switches")), "requests": sum(padded("io", "ios")),
            "bytes": sum(padded("io", "bytes")), "slab": memory}


def page_data(trace, window):
    html = run("export", "-q", "-i", trace, "--to", "html", "-o", "-", *window).stdout
    return json.loads(zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', html).group(1))))


def viewer_data(trace):
    view = subprocess.Popen([PROGRAM, "view", "-i", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    try:
        url = view.stdout.readline().strip()
        with urllib.request.urlopen(url + "window?from=0&to=9000000000000&stay=1") as answer:
            text = answer.read()
        return json.loads(zlib.decompress(text) if text[:1] != b"{" else text)
    finally:
        view.kill()
        view.wait()


def of_metrics(trace):
    text = run("metrics", "--once", "-i", trace).stdout
    add = lambda name: sum(float(v) for v in re.findall(r"(?m)^ebpfrec_%s_total(?:\{.*\})? (\S+)$" % name, text))
    return {"switches": add("context_switches"), "requests": add("io_requests"), "bytes": add("io_bytes")}


def of_mcp(trace):
    ask = [{"jsonrpc": "2.0", "id": i, "method": method, "params": params} for i, (method, params) in enumerate([
        ("initialize", {"protocolVersion": "2025-03-26", "capabilities": {},
                        "clientInfo": {"name": "test", "version": "1"}}),
        *[("tools/call", {"name": "sql", "arguments": {"trace": os.path.basename(trace), "statement": q}}) for q in (
            "SELECT count(*) AS n FROM switches", "SELECT count(*) AS n FROM block_requests WHERE end_ns NOT NULL",
            "SELECT coalesce(sum(bytes), 0) AS n FROM block_requests WHERE end_ns NOT NULL",
            "SELECT coalesce(sum(bytes), 0) AS n FROM slab_allocs")]])]
    server, replies = subprocess.Popen([PROGRAM, "mcp", DIR], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True), {}
    for one in ask:
        server.stdin.write(json.dumps(one) + "\n")
        server.stdin.flush()
        while one["id"] not in replies:
            reply = json.loads(server.stdout.readline())
            replies[reply.get("id")] = reply
    server.communicate()
    numbers = [re.search(r"(?m)^(\d+)$", replies[i]["result"]["content"][0]["text"]) for i in range(1, 5)]
    return dict(zip(("switches", "requests", "bytes", "slab"),
                    (int(n.group(1)) if n else replies[i + 1] for i, n in enumerate(numbers))))


def compare(name, window=()):
    global failed
    trace, label = os.path.join(DIR, name), name + ("" if not window else " " + " ".join(window))
    wanted = {more: of_report(trace, window, "csv", *more) for more in ((), ("--with-recorder",))}
    all_of = wanted[("--with-recorder",)]
    files = {form: of_files(trace, window, form) for form in ("csv", "json", "sqlite")}
    got = {"report --format json": (of_report(trace, window, "json", "--with-recorder"), all_of),
           "report --format jsonl": (of_report(trace, window, "jsonl", "--with-recorder"), all_of),
           "sql": (of_sql(trace, window), all_of), **{"export --to " + form: (f[0], all_of) for form,
                                                      f in files.items()}}
    got["page"] = of_page(page_data(trace, window)), wanted[()]
    if not window:
        got["viewer"] = of_page(viewer_data(trace)), wanted[()]
        got["mcp"] = of_mcp(trace), all_of
        got["metrics"] = of_metrics(trace), wanted[()]
    wrong = ["%s has %s, not %s" % (who, saw, want) for who, (saw, want) in got.items()
             if any(saw[k] != want[k] for k in saw)]
    infos = [{k: str(v) for k, v in f[1].items()} for f in files.values()]
    complete = "incomplete" not in run("export", "-f", "-i", trace, "--to", "csv", "-o", trace + ".csv", *window).stderr
    if infos[1:] != infos[:-1] or infos[0]["complete"] != str(int(complete)):
        wrong.append("export_info: %s" % infos)
    failed += bool(wrong)
    print("ok consumers: %s: %d consumers have the figures of report, %s" % (label, len(got), all_of) if not wrong else
          "not ok consumers: %s: %s" % (label, "; ".join(wrong)[:900]), flush=True)


for one in TRACES:
    compare(one)
compare("golden", ("--from", "1s", "--until", "2.6s"))
sys.exit(failed > 0)
