-- view of why 1: What delayed the end of the window, step by step?
-- note: The path goes back in time from the thread that was last on a CPU in the window. During a sleep that another
--   thread ended, the path follows that thread; before a thread was created, the path follows its creator. Each
--   wake-up counts as the cause, even if it had another reason. The parts add up to the window.
-- nobody: The path ends with the last thread on a CPU, of any process; --workload, --pid, --comm, --tid, --thread or
--   --during selects threads.
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- takes: who threads sort
-- figure: path_ns
-- drops: lost_events tid
--
-- The result has one row per thread, kind, call and object on the path: the window ends sooner only if one of them
-- gets shorter. Columns:
--   kind         running: the thread had a CPU. A kind of report waits: the thread waited for a CPU, or slept until a
--                timer, a device, the network or a task that the kernel hides ended the sleep. If a kernel thread
--                that had waited for work until then ended a sleep, this sleep takes the place of the kernel thread's
--                wait. ended: the thread had ended before the window did. unknown: no information on the thread
--   call, object the system call in which it slept, and the object it waited for, as in report why
--   parts        number of parts of the path in the row; path_ns: their time; path_max_ns: the longest
--   share_pct    of the window
SELECT p.pid AS pid, t.tid AS tid, t.comm AS comm, c.kind AS kind, c.call AS call, c.object AS object,
       count(*) AS parts,
       sum(c.end_ns - c.start_ns) AS path_ns, max(c.end_ns - c.start_ns) AS path_max_ns,
       round(100.0 * sum(c.end_ns - c.start_ns) / nullif(:to - :from, 0), 3) AS share_pct,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM blocking_chain(:from, :to) AS c JOIN threads AS t ON t.utid = c.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY c.utid, c.kind, c.call, c.object
 ORDER BY path_ns DESC, c.utid, c.kind, c.call, c.object
