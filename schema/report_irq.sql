-- view CPU 4: Which interrupts took time, and whose?
-- note: The time of an interrupt excludes nested interrupts. Handlers that share a line form one row. Interrupts of
--   tasks that the kernel hides from BPF are missing.
-- without sched.irq: Interrupts were not recorded; `ebpfrec record -e +sched.irq -- COMMAND` records
--   them.
-- by: who cpu vector
-- default: vector
-- needs: sched.irq sched.switch?
-- reach: before
-- index: irq
-- takes: every who threads sort
-- figure: util_pct
-- rows: sums machine zeros
--
-- The result has one row per interrupt line, soft interrupt or CPU-local interrupt; with --by also
-- per CPU, process, thread, comm or cgroup that was interrupted. The view needs the source sched.irq,
-- which is recorded only on request. Columns:
--   type     irq: handler of an interrupt line; softirq; local: the CPU's own timer, and calls from
--            other CPUs (x86)
--   vector   number of the line or soft interrupt; name: handlers of the line, or the kernel's name
--   runs     number of interrupts that ended in the window
--   run_ns   time inside the window, without nested interrupts: the rows of a CPU add up to at most the window
--   util_pct run_ns / window * 100: 100 is one CPU
--   run_*    length of the complete runs that ended in the window, also without nested interrupts.
--            Percentiles are nearest-rank: exact up to 65536 runs per row, otherwise within 0.4 %
--   broken   entries without an exit, and exits without an entry, in the trace: counted without time
--   complete, lost_events   as in report cpu, for sched.irq
-- Each time includes 0.1 to 0.6 us of the recorder's own program at the entry.
SELECT $t
       $keys
       u.type AS type, u.vector AS vector, irq_name(u.type, u.vector) AS name,
       u.runs AS runs, u.run_ns AS run_ns, round(100.0 * u.run_ns / u.span_ns, 3) AS util_pct,
       u.run_p50_ns AS run_p50_ns, u.run_p99_ns AS run_p99_ns, u.run_max_ns AS run_max_ns,
       u.broken AS broken,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM irq_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.run_ns DESC, u.type, u.vector
