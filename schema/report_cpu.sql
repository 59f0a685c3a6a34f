-- view CPU 1: Who used the CPU?
-- note: The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. IRQ
--   and SOFTIRQ are this part of ONCPU, if sched.irq was recorded. [unknown] is time on CPUs without a known thread:
--   switches were lost, or the kernel hides the task from BPF.
-- by: who cpu
-- needs: sched.switch sched.irq?
-- index: sched
-- takes: every who threads sort
-- figure: util_pct
-- drops: policy nice allowed switches irq_ns softirq_ns
-- rows: sums zeros
--
-- The result has one row per process (or thread, comm, cgroup), with --every per bin. Columns:
--   t_ns         start of the bin, counted from the trace's start (only with --every)
--   oncpu_ns     time on any CPU inside the window; slices are clipped exactly at the window's edges
--   util_pct     oncpu_ns / window * 100: 100 is one CPU. The window is clipped to the trace's span
--   switches     switches away from a CPU; preempted: switches away while still runnable
--   complete     1: the window lies inside the trace, and no switch in it was lost or is missing; TABLES.md defines
--                complete
--   lost_events  switches (and interrupts) that were lost, counted where the interval of the loss ends
--   steal_ns     part of oncpu_ns that a hypervisor took from the CPU, which the scheduler does not charge to the
--                thread. It is assumed to be the last part of a stay on the CPU; an excess over the stay counts as
--                [unknown]. Empty: not recorded
--   irq_ns, softirq_ns  the part of oncpu_ns in interrupts and in soft interrupts (report irq); empty
--                unless sched.irq was recorded
--   policy, nice, allowed  with --by thread: scheduling policy, nice value and allowed CPUs of the thread at the end
--                of its recording; the CPUs as a list (as their number on machines with more than 64)
-- Interrupts count for the thread they interrupted, as in the scheduler's own accounting.
-- The scheduler charges a preempted thread up to an earlier reading of its clock. `ebpfrec sql --examples` has a
-- query that compares oncpu_ns - steal_ns of each thread with the scheduler's own CPU time.
-- [unknown] is time between two switches that do not match. Either events were lost there, or the
-- kernel hides a task from BPF, as some virtual machines do with their init: the switch to such a
-- task is recorded, its later events are not.
SELECT $t
       $cpukeys
       sum(u.oncpu_ns) AS oncpu_ns,
       round(100.0 * sum(u.oncpu_ns) / u.span_ns, 3) AS util_pct,
       sum(u.switches) AS switches,
       sum(u.preempted) AS preempted,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events,
       CASE WHEN (SELECT value FROM info WHERE key = 'steal') = '1' THEN sum(u.steal_ns) END AS steal_ns,
       CASE WHEN irq_recorded(u.t_ns, u.t_end_ns) THEN sum(u.irq_ns) END AS irq_ns,
       CASE WHEN irq_recorded(u.t_ns, u.t_end_ns) THEN sum(u.softirq_ns) END AS softirq_ns
       $sched
  FROM (SELECT t_ns, t_end_ns, span_ns, utid, upid, $names oncpu_ns, switches, preempted, steal_ns, 0 AS irq_ns,
               0 AS softirq_ns
          FROM cpu_usage(:from, :to, :every)
         UNION ALL
        SELECT t_ns, t_end_ns, span_ns, utid, upid, $names 0, 0, 0, 0,
               iif(type = 'softirq', 0, run_ns), iif(type = 'softirq', run_ns, 0)
          FROM irq_usage(:from, :to, :every, 'thread' || $bynames)) AS u
 CROSS JOIN threads AS t ON t.utid = u.utid
 CROSS JOIN processes AS p ON p.upid = u.upid
 GROUP BY $cpugroup u.t_ns
 ORDER BY u.t_ns, sum(u.oncpu_ns) DESC, sum(u.switches) DESC
