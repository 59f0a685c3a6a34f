# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by record_command.sh."""
from trace_query import *
t = Trace(tmp + "/pid")
marked = {r["pid"] for r in t.sql("SELECT pid FROM processes WHERE is_workload")}
check("-p: that process is the workload, no other", marked == {int(os.environ["victim"])}, marked)
rows = t.report("cpu", "--workload")
check("--workload: none but the workload", [r["pid"] for r in rows] == [int(os.environ["victim"])] and
      rows[0]["oncpu_ns"] == [r["oncpu_ns"] for r in t.report("cpu") if r["pid"] == int(os.environ["victim"])][0], rows)
line = run("report", "-i", tmp + "/pid").splitlines()[-1]
check("--workload: the summary ends with its command, since another process has the name",
      line.endswith(f" --comm busy_threads --workload -i {tmp}/pid"), line)
if os.environ["have_cgroup"] == "1":
    t = Trace(tmp + "/cgroup")
    w = {"pid": int(os.environ["grouped"])}
    marked = {r["pid"] for r in t.sql("SELECT pid FROM processes WHERE is_workload")}
    check("--cgroup: its processes are the workload, no other", marked == {w["pid"]}, marked)
    rows = t.report("cpu", "--by", "process")
    real = [r for r in rows if isinstance(r["pid"], int) and r["pid"] > 0]
    check("--cgroup --only: only they are recorded", [r["pid"] for r in real] == [w["pid"]], rows)
    by = [r for r in t.report("cpu", "--by", "cgroup") if "ebpfrec-test-" in str(r)]
    check("--by cgroup: the group by name", len(by) == 1 and by[0]["oncpu_ns"] == (real[0]["oncpu_ns"] if real
        else None), by)
