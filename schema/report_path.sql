-- view 10: What was the window's end waiting for, all the way back to its beginning?
-- note: The path begins with the thread that was on a CPU last and goes back in time: where another thread ended
--   a sleep or began the thread, it goes on with that thread; where an interrupt did, the sleep is on the path, and the same thread is
--   before it. It takes every wake-up for the cause, also one that came for another reason. The parts add up to the window.
-- nobody: The path ends with the thread of all that was on a CPU last; give --pid, --comm, --tid, --thread or --during.
-- needs: sched.switch sched.wakeup block?
-- reach: before
-- takes: who threads sort
-- figure: path_ns
-- drops: lost_events tid
--
-- The result has one row per thread, kind, call and object on the path: what would have to be shorter for the window to end
-- sooner. Columns:
--   kind         awake: the thread ran, or waited for a CPU, or slept and nobody saw its wake-up; a kind of report waits: it slept until an interrupt woke it.
--                before: no earlier sleep of the thread is known: it began before the window, or its
--                wake-up was not seen. A thread is begun by the first one of its process, a process by that of its
--                parent. asleep: all the threads slept at the end of the window
--   call, object the system call in which it slept, and what for, as in report why
--   links        parts of the path in the row; path_ns: their time; path_max_ns: the longest
--   share_pct    of the window
WITH c AS MATERIALIZED (SELECT * FROM blocking_chain(:from, :to)),
parts AS (
	SELECT utid, iif(woken_ns IS NULL, 'before', 'awake') AS kind, NULL AS call, NULL AS object, until_ns - coalesce(woken_ns, :from) AS ns FROM c
	UNION ALL SELECT utid, kind, call, object, woken_ns - left_ns FROM c WHERE irq
	UNION ALL SELECT utid, 'asleep', NULL, NULL, :to - until_ns FROM c WHERE n = 1)
SELECT p.pid AS pid, t.tid AS tid, t.comm AS comm, x.kind AS kind, x.call AS call, x.object AS object, count(*) AS links, sum(x.ns) AS path_ns, max(x.ns) AS path_max_ns,
       round(100.0 * sum(x.ns) / nullif(:to - :from, 0), 3) AS share_pct,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM parts AS x JOIN threads AS t ON t.utid = x.utid JOIN processes AS p ON p.upid = t.upid
 WHERE x.ns > 0
 GROUP BY x.utid, x.kind, x.call, x.object
 ORDER BY path_ns DESC, x.utid, x.kind, x.call, x.object
