-- view of why 1: What delayed the end of the window, step by step?
-- note: The path goes back in time from the thread that was on a CPU last in the window. Where another thread ended a
--   sleep, it is with that thread until the sleep began; before a thread began, with the thread that made it. Every
--   wake-up counts as the cause, also one that came for another reason. The parts add up to the window.
-- nobody: The path ends with the last thread on a CPU, whoever it belongs to; --workload, --pid, --comm, --tid,
--   --thread or --during picks one.
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- takes: who threads sort
-- figure: path_ns
-- drops: lost_events tid
--
-- The result has one row per thread, kind, call and object on the path: the window ends sooner only if one of them gets
-- shorter. Columns:
--   kind         running: the thread had a CPU. A kind of report waits: it waited for a CPU, or it slept and no known
--                thread ended that, but a timer, a device, the network or a task that the kernel hides.
--                For a kernel thread that waited for work until then, the sleep that it ended takes this place.
--                ended: the thread had ended before the window did. unknown: no information on the thread
--   call, object the system call in which it slept, and the object it waited for, as in report why
--   parts        of the path in the row; path_ns: their time; path_max_ns: the longest
--   share_pct    of the window
SELECT p.pid AS pid, t.tid AS tid, t.comm AS comm, c.kind AS kind, c.call AS call, c.object AS object,
       count(*) AS parts,
       sum(c.end_ns - c.start_ns) AS path_ns, max(c.end_ns - c.start_ns) AS path_max_ns,
       round(100.0 * sum(c.end_ns - c.start_ns) / nullif(:to - :from, 0), 3) AS share_pct,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM blocking_chain(:from, :to) AS c JOIN threads AS t ON t.utid = c.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY c.utid, c.kind, c.call, c.object
 ORDER BY path_ns DESC, c.utid, c.kind, c.call, c.object
