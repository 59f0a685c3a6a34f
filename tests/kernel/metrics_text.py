# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
metrics_text: reads what `ebpfrec metrics` writes, and says from reports what it has to be.
"""

from trace_query import *

SAMPLE = re.compile(r'([a-z_]+)(?:\{(.*)\})? ([0-9.]+)$')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"(?:,|$)')


def parse(text):
    """{(name, ((label, value), ...)): number}; a line that is no sample and no remark is an error"""
    found = {}
    for line in text.decode("utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = name, tuple(sorted((k, re.sub(r"\\(.)", r"\1", v)) for k, v in LABEL.findall(labels or "")))
        if key in found:
            raise ValueError("twice: %s" % line)
        found[key] = float(value)
    return found


def total(values, name):
    return round(sum(v for (n, labels), v in values.items() if n == name), 9)


def safe(row, names):
    return tuple(sorted((n, re.sub("^'(?=[-=+@])", "", str(row[n]))) for n in names))


def sums(t, window=(), by="comm"):
    """(name, scale, {labels: sum}) of counters, from reports of a window, as --by has them"""
    def of(name, view, column, labels, scale=1, *more, **fixed):
        want = {}
        for r in t.report(view, *more, *window):
            if isinstance(r[column], int) and all(r[k] == v for k, v in fixed.items()):
                want[safe(r, labels)] = want.get(safe(r, labels), 0) + r[column]
        return "ebpfrec_" + name, scale, want
    who, disk = ("--by", by), ("--by", "device,op")
    yield of("cpu_seconds_total", "cpu", "oncpu_ns", [by], 1e9, *who)
    yield of("context_switches_total", "cpu", "switches", [by], 1, *who)
    yield of("preemptions_total", "cpu", "preempted", [by], 1, *who)
    yield of("cpu_wait_seconds_total", "sched", "wait_ns", [by], 1e9, *who)
    yield of("cpu_waits_total", "sched", "waits", [by], 1, *who)
    yield of("wait_seconds_total", "waits", "wait_ns", [by, "kind"], 1e9, *who)
    yield of("io_bytes_total", "io", "bytes", [by, "op"], 1, "--by", by + ",op")
    yield of("io_requests_total", "io", "ios", [by, "op"], 1, "--by", by + ",op")
    yield of("device_bytes_total", "io", "bytes", ["device", "op"], 1, *disk)
    yield of("device_requests_total", "io", "ios", ["device", "op"], 1, *disk)
    yield of("request_seconds_count", "latency", "ios", ["device", "op"], 1, "--histogram", *disk, phase="total")


def expected(t, by="comm"):
    """{(name, labels): number} of a whole finished trace whose labels are all given"""
    want = {}
    for name, scale, rows in sums(t, by=by):
        want.update({(name, labels): n / scale for labels, n in rows.items()})
    for r in t.report("states", "--by", by):
        for column, ns in r.items():
            if column.endswith("_ns") and column not in ("t_ns", "dur_ns", "life_ns") and isinstance(ns, int):
                want["ebpfrec_thread_state_seconds_total", tuple(sorted((*safe(r, [by]), ("state",
                    column[:-3]))))] = ns / 1e9
    for r in t.report("sched", "--by", by):
        want["ebpfrec_cpu_wait_peak_seconds", safe(r, [by])] = r["wait_max_ns"] / 1e9
    for r in t.report("memory", "--by", by):
        want["ebpfrec_resident_bytes", safe(r, [by])] = r["rss_bytes"]
        want["ebpfrec_resident_peak_bytes", safe(r, [by])] = r["rss_peak_bytes"]
    for r in t.report("alloc", "--by", by):
        if r["source"] != "vm":
            want["ebpfrec_allocated_bytes_total", safe(r, [by, "source"])] = r["alloc_bytes"]
            want["ebpfrec_freed_bytes_total", safe(r, [by, "source"])] = r["free_bytes"]
            want["ebpfrec_exit_bytes_total", safe(r, [by, "source"])] = r["exit_bytes"]
    for r in t.report("io", "--by", "device,op"):
        want["ebpfrec_request_peak_seconds", safe(r, ["device", "op"])] = r["lat_max_ns"] / 1e9
    steps = {}
    for r in t.report("latency", "--histogram", "--by", "device,op"):
        if r["phase"] == "total":
            steps.setdefault(safe(r, ["device", "op"]), []).append((r["high_ns"], r["ios"]))
    for labels, rows in steps.items():
        for k in range(12, 36):
            le = ("le", "%.9f" % ((2 ** k - 1) / 1e9) if k < 35 else "+Inf")
            want["ebpfrec_request_seconds_bucket", tuple(sorted((*labels, le)))] = sum(n for high, n in rows if k == 35
                or high <= 2 ** k)
    for r in t.report("spikes", "--spike-min", "16MiB") if by == "comm" else ():
        if r["comm"] != "[all]":
            key = "ebpfrec_burst_peak_bytes", safe(r, ["comm"])
            want[key] = max(want.get(key, 0), r["bytes"])
    for r in t.report("loss"):
        want["ebpfrec_lost_events_total", safe(r, ["source"])] = r["lost_events"]
        want["ebpfrec_events_total", safe(r, ["source"])] = r["read"]
    return want


def compare(got, want, by="comm"):
    """what differs; peaks, buckets and figures of the trace itself are only in one"""
    shown, merged = {dict(labels).get(by) for name, labels in got}, {}
    for (name, labels), v in want.items():
        labels = tuple((k, x if k != by or x in shown else "[other]") for k, x in labels)
        before = merged.get((name, labels), 0)
        merged[name, labels] = max(before, v) if "_peak_" in name else before + v
    bad = ["%s%s: %s, report %s" % (*k, got.get(k), v) for k, v in merged.items() if abs(got.get(k, -1) - v) > 1e-9]
    known = {name for name, labels in want}
    return bad + ["%s%s: %s, not in a report" % (*k, v) for k, v in got.items() if k[0] in known and k not in merged
                  and v]
