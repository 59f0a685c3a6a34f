-- Who waited for a CPU, and for how long?
--
-- One row per process (or thread, comm, cgroup). Columns:
--   waits          times it was switched in after a wait whose beginning is known
--   wait_ns        their sum, from wake-up or preemption to switch-in
--   wait_p50_ns .. nearest-rank percentiles and maximum; exact up to 65536 waits a row in a window
--                of up to a million switches and wake-ups, within 0.4 % beyond
--   wakeups        waits that began with a wake-up; preempts: with a preemption or yield
--   unknown_waits  switch-ins whose wake-up was not recorded
--   migrations     switch-ins on another CPU than the one before
-- A wait counts in the window in which it ends, with its whole length.
SELECT $t
       $keys
       u.waits AS waits, u.wait_ns AS wait_ns,
       u.wait_p50_ns AS wait_p50_ns, u.wait_p99_ns AS wait_p99_ns, u.wait_max_ns AS wait_max_ns,
       u.wakeups AS wakeups, u.preempts AS preempts, u.unknown_waits AS unknown_waits,
       u.migrations AS migrations,
       is_complete('sched', u.t_ns, u.t_end_ns) AS complete,
       lost_events('sched', u.t_ns, u.t_end_ns) AS lost_events
  FROM sched_waits(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.wait_ns DESC, u.waits DESC
