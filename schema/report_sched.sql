-- view CPU 3: Who waited for a CPU, and for how long?
-- note: WAIT is the time in the window in which threads waited for a CPU: RUNNABLE and PREEMPT
--   of `report states` together. Percentiles and the maximum are of the waits that ended in the
--   window, each with its whole length. Percentiles are exact up to 65536 waits per row in a window
--   of up to a million events, otherwise within 0.4 %.
-- by: who
-- needs: sched.switch sched.wakeup sched.migrate?
-- reach: before state
-- index: states
-- takes: every who threads sort
-- figure: wait_ns
-- drops: migrations preempts wakeups wait_p50_ns
-- rows: sums zeros
--
-- The result has one row per process (or thread, comm, cgroup). Columns:
--   waits          waits that ended in the window, and whose start is known
--   wait_ns        time in the window from a wake-up or preemption to the switch-in, also of waits that
--                  end later or never: runnable_ns + preempted_ns of report_states.sql
--   wait_p50_ns .. nearest-rank percentiles and maximum: exact up to 65536 waits per row in a window of
--                  up to a million switches and wake-ups, otherwise within 0.4 %
--   wakeups        number of waits that began with a wake-up; preempts: with a preemption or a yield
--   unknown_waits  waits of unknown length: the wake-up or the switch-in is not recorded
--   migrations     switch-ins on another CPU than before
-- All columns except wait_ns cover the waits that ended in the window, with their whole length.
SELECT $t
       $keys
       u.waits AS waits, u.wait_ns AS wait_ns,
       u.wait_p50_ns AS wait_p50_ns, u.wait_p99_ns AS wait_p99_ns, u.wait_max_ns AS wait_max_ns,
       u.wakeups AS wakeups, u.preempts AS preempts, u.unknown_waits AS unknown_waits,
       u.migrations AS migrations,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM sched_waits(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.wait_ns DESC, u.waits DESC
