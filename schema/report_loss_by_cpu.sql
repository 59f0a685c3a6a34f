-- variant of loss by cpu: What was lost?
--
-- The result has one row per CPU, class and source with a loss, with --every per bin. An empty cpu
-- means that the kernel does not report the CPU. Losses are known per interval of about a second, and
-- a loss counts in the bin in which its interval ends.
SELECT $t
       l.cpu AS cpu, l.class AS class, l.source AS source, sum(l.lost_cnt) AS lost_events,
       sum(l.full_cnt) AS full, sum(l.other_cnt) AS other, sum(l.missed_cnt - l.inferred_cnt) AS missed,
       sum(l.inferred_cnt) AS lost_inferred
  FROM window_loss(:from, :to, :every) AS u
 CROSS JOIN losses AS l ON l.from_ns < u.t_end_ns AND max(l.to_ns - 1, l.from_ns) >= u.t_ns
       AND max(l.to_ns - 1, l.from_ns) < u.t_end_ns
 WHERE u.class = 'sched' AND l.lost_cnt > 0
 GROUP BY u.t_ns, l.cpu, l.class, l.source
 ORDER BY u.t_ns, l.cpu, l.class, l.source
