-- variant of cpu by cpu: Who used the CPU?
-- note: ONCPU, IDLE, UNKNOWN (the running task is unknown: switches were lost, or the kernel hides the task from BPF)
--   and OTHER (the recorder, and threads that --pid and the like or record --only exclude) add up to the window.
--   Interrupts count for the thread that they interrupted, as in the scheduler's own accounting.
--
-- The result has one row per CPU. oncpu_ns is the time of the selected threads (the recorder only
-- with --with-recorder). oncpu_ns + idle_ns + unknown_ns + other_ns is exactly the part of the window
-- that lies inside the trace's span.
--   steal_ns  part of oncpu_ns that a hypervisor took from the CPU, assumed to be the last part of a stay on the CPU.
--             Empty: not recorded
--   irq_ns, softirq_ns  time of the CPU in interrupts and in soft interrupts (report irq), over
--             selected threads and idle time: part of oncpu_ns, idle_ns and unknown_ns; empty unless
--             sched.irq was recorded
--   unknown_ns  time between two switches that do not match: switches were lost, or the kernel hides the task
--             that ran from BPF
--   other_ns  time of threads that are not selected, of the recorder, and of tasks that record --only excludes
-- --with-idle does not change these figures.
SELECT $t
       u.cpu AS cpu,
       sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.oncpu_ns ELSE 0 END) AS oncpu_ns,
       round(100.0 * sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.oncpu_ns ELSE 0 END) / u.span_ns, 3) AS util_pct,
       sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.switches ELSE 0 END) AS switches,
       sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.preempted ELSE 0 END) AS preempted,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events,
       CASE WHEN (SELECT value FROM info WHERE key = 'steal') = '1'
           THEN sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.steal_ns ELSE 0 END) END AS steal_ns,
       sum(CASE WHEN u.utid = 0 THEN u.oncpu_ns ELSE 0 END) AS idle_ns,
       sum(CASE WHEN u.utid = 1 THEN u.oncpu_ns ELSE 0 END) AS unknown_ns,
       u.span_ns - sum(CASE WHEN u.utid = 3 THEN 0 ELSE u.oncpu_ns END) AS other_ns,
       CASE WHEN irq_recorded(u.t_ns, u.t_end_ns) THEN sum(u.irq_ns) END AS irq_ns,
       CASE WHEN irq_recorded(u.t_ns, u.t_end_ns) THEN sum(u.softirq_ns) END AS softirq_ns
  FROM (SELECT t_ns, t_end_ns, span_ns, cpu, utid, oncpu_ns, switches, preempted, steal_ns, 0 AS irq_ns, 0 AS softirq_ns
          FROM cpu_usage(:from, :to, :every)
         UNION ALL
        SELECT t_ns, t_end_ns, span_ns, cpu, 0, 0, 0, 0, 0,
               iif(type = 'softirq', 0, run_ns), iif(type = 'softirq', run_ns, 0)
          FROM irq_usage(:from, :to, :every, 'cpu')) AS u
 GROUP BY u.t_ns, u.cpu
 ORDER BY u.t_ns, u.cpu
