-- view of waits 1: Where did threads wait off the CPU, and who woke them?
-- note: A wait counts in the window in which it ends, with its whole length. User-space frames come from frame
--   pointers: in code without them, such as most C libraries, a stack ends early or lacks callers, unless it was
--   recorded with --unwind dwarf.
-- without offcpu.min_ns: No waits were recorded; `ebpfrec record --offcpu 1ms -- COMMAND` records
--   some.
-- by: who function module waker
-- default: function
-- needs: sched.offcpu
-- index: states
-- takes: who threads lines sort stacks
-- drops: offcpu_max_ns runnable_ns
--
-- The result has one row per state, waker and stack (by module: of files), and per process (or thread, comm, cgroup)
-- if --by names such a key. It covers the waits that were recorded (record --offcpu) and ended in the window.
-- Columns:
--   pid, comm        if --by names no task key: those of the processes, if all have the same
--   state            of the thread, as in report_states.sql: preempted if it was still runnable when it
--                    left its CPU; otherwise sleeping, stopped, uninterruptible, or disk if half of an
--                    uninterruptible sleep or more was a wait for a disk. If the switches of the wait are
--                    unknown, the state is that of the kernel's bits
--   waker            name of the thread that ended the wait; [irq]: an interrupt, such as a timer's; empty if no
--                    wake-up was needed; [unknown]
--   waits            number of waits; offcpu_ns, offcpu_max_ns: their length, and that of the longest
--   runnable_ns      the part of offcpu_ns after the wake-up, when the thread waited for a CPU
--   stack            frames when it left the CPU, outermost function first, separated by ';': user space,
--                    then the kernel
-- report_offcpu_by_waker.sql has the stacks of the wakers.
SELECT $cpukeys u.state AS state, w.comm AS waker, sum(u.waits) AS waits, sum(u.offcpu_ns) AS offcpu_ns,
       max(u.max_ns) AS offcpu_max_ns, sum(u.runnable_ns) AS runnable_ns, u.text AS stack,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM (SELECT x.*, t.upid AS upid, $stack_text(x.stack, x.last_ns) AS text
          FROM (SELECT utid, stack, iif(state = 'preempted', NULL, waker_utid) AS waker_utid, state,
                       count(*) AS waits, sum(dur_ns) AS offcpu_ns, max(dur_ns) AS max_ns,
                       sum(runnable_ns) AS runnable_ns, max(ts_ns - dur_ns) AS last_ns,
                       iif($bycomm, comm_at((SELECT upid FROM threads AS n WHERE n.utid = e.utid), e.ts_ns),
                           NULL) AS comm_then,
                       iif($bythreadname, thread_comm_at(e.utid, e.ts_ns), NULL) AS thread_name_then
                  FROM offcpu_waits(:from, :to) AS e WHERE thread_in_scope(e.utid, e.ts_ns)
                 GROUP BY 1, 2, 3, 4, comm_then, thread_name_then) AS x
          JOIN threads AS t ON t.utid = x.utid) AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS w ON w.utid = u.waker_utid
 GROUP BY $cpugroup u.state, w.comm, u.text
 ORDER BY sum(u.offcpu_ns) DESC, u.text, w.comm
