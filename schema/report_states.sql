-- view Waiting 1: What did threads do all the time: run, wait, sleep?
-- note: The parts of a thread add up to its life in the window. RUNNABLE and PREEMPT are waits for a CPU, after a
--   wake-up and after a preemption; THROTTLED is a wait for a quota of CPU time. DISK is uninterruptible sleep while
--   a block request that the thread submitted is in flight; UNINT is other uninterruptible sleep, and ASLEEP sleep
--   that a signal can end. UNKNOWN is the time in which events were lost, and the time before the first event of a
--   thread whose state was not read when the recording began.
-- by: who
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- index: states
-- takes: every who threads sort
-- figure: runnable_ns
-- drops: life_ns lost_events unknown_ns stopped_ns throttled_ns dur_ns t_ns
-- rows: sums
--
-- The result has one row per process (or thread, comm, cgroup); a row adds up its threads. Columns:
--   life_ns             time that the threads lived inside the window: the sum of the following parts
--   running_ns          on a CPU; [unknown] has time on CPUs without a known thread, as in report cpu
--   runnable_ns         from a wake-up to the switch-in
--   preempted_ns        from leaving the CPU while still runnable to the switch-in; also after a yield
--   throttled_ns        the same, because the quota of the thread's control group was used up. Before Linux 6.18
--                       a thread that is woken while its group is throttled is runnable until it leaves a CPU
--   disk_ns             in an uninterruptible sleep while a block request that the thread submitted was in
--                       flight; empty unless block was recorded
--   uninterruptible_ns  in another uninterruptible sleep
--   sleeping_ns         asleep; also the idle sleep of kernel threads
--   stopped_ns          stopped or traced
--   unknown_ns          before the first event of a thread that lived before the trace, or where events
--                       were lost or belong to a task that the kernel hides from BPF: a thread that is
--                       woken again while it waits for a CPU has run unseen, and is unknown until it is seen
-- A life begins with the thread's first wake-up, and ends when the thread leaves its CPU for the last
-- time. A bio that waits before it becomes a request (a throttled cgroup) is not in flight, and so is a
-- request that another thread submitted, such as a journal's: such waits are in uninterruptible_ns.
SELECT $t
       $keys
       u.running_ns + u.runnable_ns + u.preempted_ns + u.throttled_ns + u.disk_ns + u.uninterruptible_ns + u.sleeping_ns
           + u.stopped_ns
       + u.unknown_ns AS life_ns,
       u.running_ns AS running_ns, u.runnable_ns AS runnable_ns, u.preempted_ns AS preempted_ns,
       u.throttled_ns AS throttled_ns,
       CASE WHEN was_recorded('block') THEN u.disk_ns END AS disk_ns,
       u.uninterruptible_ns AS uninterruptible_ns, u.sleeping_ns AS sleeping_ns, u.stopped_ns AS stopped_ns,
       u.unknown_ns AS unknown_ns,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM thread_states(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.running_ns + u.runnable_ns + u.preempted_ns + u.throttled_ns + u.disk_ns
     + u.uninterruptible_ns DESC, u.running_ns DESC, u.upid, u.utid, u.name
