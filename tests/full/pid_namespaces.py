# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by containers.sh."""
from trace_query import *
t = Trace(tmp + "/ns")
rows = t.sql("SELECT pid, ns_pid FROM processes WHERE comm = 'in_a_namespace'")
check("pid namespace: a process in it has both ids", len(rows) == 1 and 1 < rows[0]["ns_pid"] < 10
      and rows[0]["pid"] > rows[0]["ns_pid"], rows)
shells = t.sql("SELECT pid, ns_pid FROM processes WHERE comm = 'sh' AND ns_pid = 1")
check("pid namespace: its init is 1 there, and something else here", len(shells) == 1 and shells[0]["pid"] != 1, shells)
sleeper = t.sql("SELECT p.ns_pid FROM processes p WHERE comm = 'sleep' AND is_workload")
check("pid namespace: children too", len(sleeper) == 1 and sleeper[0]["ns_pid"] < 20, sleeper)
threads = t.sql("SELECT tid, ns_tid FROM threads JOIN processes USING (upid) WHERE processes.comm = 'in_a_namespace'")
check("pid namespace: threads too", threads and all(r["ns_tid"] != r["tid"] for r in threads), threads)
here = t.one("SELECT count(*) FROM processes WHERE comm = 'unshare' AND pid <> ns_pid")
check("pid namespace: outside of it both are the same", here == 0, here)
t = Trace(tmp + "/before")
rows = t.sql("SELECT pid, ns_pid FROM processes WHERE at_start AND ns_pid = 1 AND pid <> 1 AND comm = 'sh'")
check("pid namespace: known from the snapshot, too", len(rows) >= 1, rows)
