-- Who used the CPU?
--
-- One row per CPU. oncpu_ns is the time of the threads asked for (without the recorder unless asked for); then
-- oncpu_ns + idle_ns + unknown_ns + other_ns is the window's part inside the trace's span, exactly.
--   other_ns  threads not asked for, the recorder, and what --only left out
-- It is the same with or without --with-idle.
SELECT $t
       u.cpu AS cpu,
       sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.oncpu_ns ELSE 0 END) AS oncpu_ns,
       round(100.0 * sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.oncpu_ns ELSE 0 END) / u.span_ns, 3) AS util_pct,
       sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.switches ELSE 0 END) AS switches,
       sum(CASE WHEN u.utid NOT IN (0, 1, 3) THEN u.preempted ELSE 0 END) AS preempted,
       is_complete('sched.switch', u.t_ns, u.t_end_ns) AS complete,
       lost_events('sched', u.t_ns, u.t_end_ns) AS lost_events,
       sum(CASE WHEN u.utid = 0 THEN u.oncpu_ns ELSE 0 END) AS idle_ns,
       sum(CASE WHEN u.utid = 1 THEN u.oncpu_ns ELSE 0 END) AS unknown_ns,
       u.span_ns - sum(CASE WHEN u.utid = 3 THEN 0 ELSE u.oncpu_ns END) AS other_ns
  FROM cpu_usage(:from, :to, :every) AS u
 GROUP BY u.t_ns, u.cpu
 ORDER BY u.t_ns, u.cpu
