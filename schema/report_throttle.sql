-- view CPU 5: Which control groups used up their CPU quota?
-- note: Each row is a control group with a quota of its own, or with that of a group above it, which QUOTA OF names.
--   PERIODS counts the periods in which a thread wanted to run and the quota was used up. THROTTLED is the time in
--   which threads waited for the next period; THREADS is the number of these threads, whose times are added up.
-- needs: sched.switch sched.wakeup
-- reach: before state
-- index: states
-- takes: who threads sort
-- figure: throttled_ns
-- drops: lost_events quota_of
--
-- The result has one row per control group to which threads of the report belong, if the group has a quota, or had
-- throttled threads in the window. The group of a process is its last one. Columns:
--   quota_ns         CPU time that the threads of the group may use in each period_ns: the last value in the window.
--                    The quota is read when a group is first seen, and every 2 s; the table quotas has all values
--   quota_of         group that has the quota, if it is another group
--   periods          number of periods in which threads were throttled, counted by the waits that ended in the
--                    window; throttled_max_ns: the longest of these waits, with its whole length
--   throttled_ns     time in the window in which threads were throttled: throttled_ns of report_states.sql. It
--                    differs from the throttled time of cpu.stat if several threads of a group, or CPUs, are
--                    throttled at once
--   threads          number of threads that were throttled
WITH w AS MATERIALIZED (
        SELECT p.cgroup_id AS cgroup_id, p.cgroup AS cgroup,
               count(DISTINCT u.utid) FILTER (WHERE u.kind = 'throttled') AS threads,
	       coalesce(sum(u.wait_ns) FILTER (WHERE u.kind = 'throttled'), 0) AS throttled_ns,
	       max(u.wait_max_ns) FILTER (WHERE u.kind = 'throttled') AS throttled_max_ns
	  FROM wait_kinds(:from, :to, 0, 'thread') AS u JOIN processes AS p ON p.upid = u.upid
	 WHERE p.cgroup_id NOT NULL GROUP BY p.cgroup_id),
q AS (SELECT cgroup_id, quota_of, quota_ns, period_ns,
             row_number() OVER (PARTITION BY cgroup_id ORDER BY from_ns DESC) AS n
        FROM quotas WHERE from_ns < :to AND to_ns > :from),
t AS MATERIALIZED (SELECT cgroup_id, periods FROM throttled_periods(:from, :to) WHERE (SELECT sum(threads) FROM w) > 0)
SELECT coalesce(w.cgroup, '[unknown]') AS cgroup, q.quota_ns AS quota_ns, q.period_ns AS period_ns,
       nullif(q.quota_of, w.cgroup) AS quota_of,
       coalesce(t.periods, 0) AS periods, w.throttled_ns AS throttled_ns, w.throttled_max_ns AS throttled_max_ns,
       w.threads AS threads,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM w LEFT JOIN q ON q.cgroup_id = w.cgroup_id AND q.n = 1 LEFT JOIN t ON t.cgroup_id = w.cgroup_id
 WHERE w.threads > 0 OR q.quota_ns NOT NULL
 ORDER BY w.throttled_ns DESC, cgroup
