-- Which interrupts took time, and whose?
--
-- One row per interrupt line, soft interrupt or interrupt of the CPU's own (or CPU, process, thread, comm or cgroup whose
-- time it took, and interrupt). Needs sched.irq, which is recorded on request only. Columns:
--   type     irq: a handler of an interrupt line; softirq; local: the CPU's own timer, and calls of other CPUs (x86)
--   vector   number of the line or soft interrupt; name: handlers of the line, or the kernel's name
--   runs     how many ended in the window
--   run_ns   time in it inside the window, without what interrupted it: rows of a CPU add up to no more than the window
--   util_pct run_ns / window * 100: 100 is one CPU
--   run_*    of the whole runs that ended in the window, likewise without what interrupted them. Percentiles are
--            nearest-rank, exact up to 65536 runs a row, within 0.4 % beyond
--   broken   entries whose exit, and exits whose entry, is not in the trace: counted, without any time
--   complete, lost_events   as in report cpu, for sched.irq
-- Each time holds what the recorder's own programs took at its entry, which is 0.1 to 0.6 us.
SELECT $t
       $keys
       u.type AS type, u.vector AS vector, irq_name(u.type, u.vector) AS name,
       u.runs AS runs, u.run_ns AS run_ns, round(100.0 * u.run_ns / u.span_ns, 3) AS util_pct,
       u.run_p50_ns AS run_p50_ns, u.run_p99_ns AS run_p99_ns, u.run_max_ns AS run_max_ns,
       u.broken AS broken,
       is_complete('sched.irq', u.t_ns, u.t_end_ns) AS complete,
       lost_events('sched', u.t_ns, u.t_end_ns) AS lost_events
  FROM irq_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.run_ns DESC, u.type, u.vector
