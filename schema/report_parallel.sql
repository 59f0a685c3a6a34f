-- view of cpu 1: Whose time was it, when several CPUs were busy at once?
-- note: WALL divides elapsed time: each instant is divided equally among the threads that ran, so the rows add up to
--   the time in which any thread ran. With --tid, --thread, --pid or --comm, only the threads that these options
--   select count.
-- by: who
-- needs: sched.switch
-- takes: every who threads histogram sort
-- figure: wall_pct
--
-- The result has one row per process (or thread, comm, cgroup). Columns:
--   wall_ns       elapsed time, with each instant divided among the threads that ran at that instant; the rows add up
--                 to the time in which any thread ran
--   wall_pct      wall_ns / window * 100: upper bound of how much shorter the window would be without this row
--   alone_ns      time in which a thread of this row was the only one that ran
--   oncpu_ns      time on any CPU, as in report cpu
--   parallel_avg  average number of busy CPUs while this row ran
-- Only threads of the report's processes count: with --pid or --comm those of these processes.
SELECT $t
       $keys
       CAST(round(sum(1.0 * u.oncpu_ns / u.busy)) AS INTEGER) AS wall_ns,
       round(100.0 * sum(1.0 * u.oncpu_ns / u.busy) / u.span_ns, 3) AS wall_pct,
       coalesce(sum(u.oncpu_ns) FILTER (WHERE u.busy = 1), 0) AS alone_ns,
       sum(u.oncpu_ns) AS oncpu_ns,
       round(1.0 * sum(u.oncpu_ns * u.busy) / sum(u.oncpu_ns), 3) AS parallel_avg,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM parallel_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 GROUP BY u.t_ns, u.upid, u.utid, u.name, u.member_upid
 ORDER BY u.t_ns, wall_ns DESC, oncpu_ns DESC, u.upid, u.utid, u.name
