# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by why_causes.sh. What is checked holds beside other work; how good the intervals are is printed."""
import shlex
import statistics
from trace_query import *
tmp, work = os.environ["tmp"], os.environ["WORK"]
CAUSES = {"lock": "lock:the_lock (delayed)", "timeout": "timeout", "sleep": "sleep:delayed", "peer": "process:peer",
          "cpu": "process:neighbour", "function": "function:slow_function"}
REPEAT = int(os.environ.get("EBPFREC_WHATIF_REPEAT", "9"))
ALONE = shlex.split(os.environ["with_cpus"])


def saving(t, *causes):
    return rows_of(run("report", "-i", t.path, "whatif", "--format", "csv",
                       *[a for c in causes for a in ("--without", c)]))[0]


def took_ns(*args):
    out = subprocess.run([*ALONE, work + "/delayed", *args], check=True, capture_output=True, text=True).stdout
    return int(out.split("=")[1])


inside, near, narrow, seen = 0, 0, 0, 0
for kind, cause in CAUSES.items():
    for shape in ("serial", "parallel", "off", "masking"):
        name = kind + "-" + shape
        t, took = Trace(tmp + "/" + name), truth(tmp + "/" + name + ".out")["took"]
        alone = saving(t, cause)
        row = saving(t, cause, "sleep:delayed" if kind == "timeout" else "timeout") if shape == "masking" else alone
        least, most = int(row["saves_min_ns"]), int(row["saves_max_ns"])
        drift = int(row["drift_ns"])
        if shape == "off":  # beside other work, the longer thread waits for CPUs that the cause had
            check("%s: what delays nothing saves next to nothing" % name, most - drift <= took / 20, row)
        else:
            check("%s: the cause is found" % name, row["verdict"] == "", row)
        if kind == "function" and shape != "off":
            rows = rows_of(run("report", "-i", t.path, "whatif", "--format", "csv"))
            tried = [r for r in rows if r["cause"] == cause]
            check("%s: the function is tried without being named" % name, tried == [alone], (tried, alone))
        if kind == "function" and shape == "serial":
            said = [r["value"] for r in rows_of(run("report", "-i", t.path, "why", "--format", "csv"))
                    if r["section"] == "In short"]
            check("%s: why names the function and its saving" % name, " of it in slow_function; removing it saves "
                  in said[0], said)
        if shape == "masking":
            check("%s: two causes save at least what one saves" % name,
                  int(row["saves_max_ns"]) >= int(alone["saves_max_ns"]) - int(alone["drift_ns"]), (alone, row))
        measured = statistics.median(took_ns(kind, shape, "without") for _ in range(REPEAT))
        # a cause does not cost less than nothing: a run that is longer without it is so for another reason
        is_in = took - most <= measured and (measured <= took - least or not least)
        is_near = took * 0.99 - most <= measured and (measured <= took * 1.01 - least or not least)
        inside, near, seen = inside + is_in, near + is_near, seen + 1
        narrow += most - least <= took / 5
        where = "in" if is_in else "near" if is_near else "OUT"
        print("# %-16s %-4s of %4.0f ms: saves %4.0f to %4.0f ms (drift %3.0f), measured %4.0f ms" % (
            name, where, took / 1e6, least / 1e6, most / 1e6, drift / 1e6, (took - measured) / 1e6))
print("# %d of %d measured medians lie in the interval, %d within 1 %% of the run" % (inside, seen, near))
print("# %d intervals are at most 20 %% wide" % narrow)
