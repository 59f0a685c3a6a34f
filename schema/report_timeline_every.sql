-- variant of timeline every: Which thread ran on which CPU, and when?
-- note: Each row is a CPU in a bin, with the process that had the CPU longest.
--
-- With --every the result has one row per bin and CPU. Columns:
--   busy_pct             share of the bin in which the CPU ran one of the selected processes
--   switches             number of switches away from a thread
--   pid, comm, oncpu_ns  the process with the most CPU time
SELECT t_ns, cpu, round(100.0 * sum(ns) / span_ns, 3) AS busy_pct, sum(switches) AS switches,
       pid, comm, max(ns) AS oncpu_ns,
       view_complete(t_ns, t_end_ns) AS complete, view_lost(t_ns, t_end_ns) AS lost_events
  FROM (SELECT u.t_ns AS t_ns, u.t_end_ns AS t_end_ns, u.span_ns AS span_ns, u.cpu AS cpu, p.pid AS pid, p.comm AS comm,
               sum(u.oncpu_ns) AS ns, sum(u.switches) AS switches
          FROM cpu_usage(:from, :to, :every) AS u JOIN processes AS p ON p.upid = u.upid
         GROUP BY u.t_ns, u.cpu, u.upid)
 GROUP BY t_ns, cpu ORDER BY t_ns, cpu
