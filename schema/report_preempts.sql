-- view of sched 1: Who took the CPU, and who lost it?
-- note: PREEMPTS is how often a process lost a CPU to another process while still runnable. BY ONCPU is how long the
--   other process then had the CPU, in the window or bin.
-- needs: sched.switch
-- reach: before state
-- index: sched
-- takes: every who threads sort
-- figure: preempts
-- rows: zeros
--
-- The result has one row per preempted process and process that ran next on that CPU. Columns:
--   preempts           number of times a thread of the first process left a CPU while still runnable,
--                      and a thread of the second process followed
--   by_oncpu_ns, ..    time in the window (with --every, in the bin) that the second process then ran, in total and at
--   most
-- A yield counts too, because the kernel does not distinguish a yield from a preemption.
SELECT r.*, view_complete($binfrom, $binto) AS complete, view_lost($binfrom, $binto) AS lost_events
  FROM (SELECT $t_spike
               p.pid AS pid, p.comm AS comm, bp.pid AS by_pid, bp.comm AS by_comm, count(*) AS preempts,
               sum(u.by_dur_ns) AS by_oncpu_ns, max(u.by_dur_ns) AS by_oncpu_max_ns
          FROM (SELECT utid, end_ns AS start_ns, end_reason, lead(utid) OVER next AS by_utid,
                       min(lead(dur_ns) OVER next,
                           max(0, coalesce(:from + ((end_ns - :from) / nullif(:every, 0) + 1) * :every, :to) -
                           lead(start_ns) OVER next)) AS by_dur_ns
                  FROM sched_slices(:from, :to) WINDOW next AS (PARTITION BY cpu ORDER BY start_ns)) AS u
          JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
          JOIN threads AS bt ON bt.utid = u.by_utid JOIN processes AS bp ON bp.upid = bt.upid
         WHERE u.end_reason = 'preempted' AND thread_in_scope(t.utid, u.start_ns)
         GROUP BY $tgroup p.upid, bp.upid) AS r
 ORDER BY $tgroup preempts DESC, by_oncpu_ns DESC
