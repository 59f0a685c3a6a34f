-- variant of offcpu by waker: Who woke threads that had waited off the CPU, and from where?
--
-- The result has one row per waker's name, name of the thread that was woken, state and stack of the waker, over the
-- waits that were recorded (record --offcpu) and ended in the window. It excludes waits of threads that were runnable
-- when they left the CPU, which have no waker. Columns:
--   comm             name of the waker; [irq]: an interrupt woke the thread
--   woken            name of the thread that waited
--   state            of that thread, as in report_offcpu.sql
--   waits, offcpu_ns, offcpu_max_ns, runnable_ns    as in report_offcpu.sql
--   stack            frames of the waker, outermost function first, separated by ';'. Empty: the thread was woken
--                    before the minimum of --offcpu had passed, and then waited for a CPU
SELECT u.comm AS comm, u.woken AS woken, u.state AS state, sum(u.waits) AS waits, sum(u.offcpu_ns) AS offcpu_ns,
       max(u.max_ns) AS offcpu_max_ns, sum(u.runnable_ns) AS runnable_ns, u.text AS stack,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM (SELECT x.*, w.comm AS comm, t.comm AS woken,
               iif(x.waker_utid = 2, stack_text(x.waker_stack, x.last_ns, 'interrupt'),
                   stack_text(x.waker_stack, x.last_ns)) AS text
          FROM (SELECT utid, waker_utid, waker_stack,
                       state, count(*) AS waits, sum(dur_ns) AS offcpu_ns, max(dur_ns) AS max_ns,
                       sum(runnable_ns) AS runnable_ns, max(ts_ns - runnable_ns) AS last_ns
                  FROM offcpu_waits(:from, :to) WHERE state <> 'preempted' AND thread_in_scope(utid, ts_ns)
                 GROUP BY 1, 2, 3, 4) AS x
          JOIN threads AS t ON t.utid = x.utid JOIN threads AS w ON w.utid = x.waker_utid) AS u
 GROUP BY u.comm, u.woken, u.state, u.text
 ORDER BY sum(u.offcpu_ns) DESC, u.text, u.woken
