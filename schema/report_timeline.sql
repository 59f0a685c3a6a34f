-- view of cpu 2: Which thread ran on which CPU, and when?
-- note: Each row is an uninterrupted time of one thread on a CPU.
-- needs: sched.switch sched.wakeup
-- reach: before state
-- index: states
-- takes: every who threads sort
-- figure: busy_pct
-- rows: few
--
-- The result has one row per slice (a thread's uninterrupted time on a CPU), in order of time, cut at
-- the window's edges. Columns:
--   wait_ns     time for which the thread was runnable before the slice; empty if it is not known, or
--               if the wait began before the window
--   end_reason  slept, preempted (or yielded), runnable (idle gave way), cut, unknown (switches were
--               lost)
SELECT u.start_ns AS start_ns, u.cpu AS cpu, u.dur_ns AS dur_ns, p.pid AS pid, t.tid AS tid,
    thread_comm_at(t.utid, u.start_ns) AS comm,
       u.wait_ns AS wait_ns, u.end_reason AS end_reason,
       view_complete(u.start_ns, u.end_ns + (u.end_ns < :to)) AS complete,
       view_lost(u.start_ns, u.end_ns) AS lost_events
  FROM sched_slices(:from, :to) AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
 WHERE thread_in_scope(t.utid, u.start_ns)
 ORDER BY u.start_ns, u.cpu
