-- view Start 4: Which processes ran, and how did they end?
-- note: Processes that ran, began or ended in the window, with their parents, each below its parent. WALL is the time
--   in the window in which the process lived, and ONCPU the time in which its threads had CPUs. EXIT and SIGNAL are
--   the result of wait(): the exit status, or the signal that killed the process. For a recorded command, only its
--   processes are shown; --machine shows all.
-- needs: sched.switch sched.wakeup? alloc.rss?
-- reach: before state levels
-- index: states levels
-- takes: who sort
-- figure: oncpu_ns
-- drops: lost_events ppid start_ns rss_peak_bytes
--
-- The result has one row per process. Children follow their parent, in the order of their first events in the trace.
-- A parent that is not in the report (--pid, --comm, --workload) makes its child a root. Columns:
--   pid, ppid        of the process, and of its parent
--   depth            0: a root; tables indent the name by it
--   start_ns         instant of the process's creation; negative: before the trace
--   wall_ns          time in the window in which it lived; oncpu_ns: time that its threads had on CPUs
--   rss_peak_bytes   most resident memory in the window
--   exit_status, signal   how it ended: its status, or the signal that killed it; empty: it lived at the trace's end
--   cmdline          arguments at the last exec, or the file
WITH RECURSIVE
u AS MATERIALIZED (
	SELECT member_upid AS upid, sum(running_ns) AS oncpu_ns,
	       max(running_ns + runnable_ns + preempted_ns + throttled_ns + disk_ns + uninterruptible_ns + sleeping_ns
	           + stopped_ns + unknown_ns) AS life_ns
	  FROM thread_states(:from, :to, 0, 'thread') GROUP BY member_upid),
p AS MATERIALIZED (
	SELECT * FROM processes WHERE pid IS NOT NULL AND in_scope(upid) AND coalesce(start_ns, :from) < :to
	   AND coalesce(end_ns, :to) >= :from),
shown (upid, parent_upid) AS (
	SELECT p.upid, p.parent_upid FROM p LEFT JOIN u ON u.upid = p.upid
	 WHERE u.oncpu_ns > 0 OR p.start_ns >= :from OR p.end_ns < :to
	 UNION
	SELECT p.upid, p.parent_upid FROM shown JOIN p ON p.upid = shown.parent_upid),
tree (upid, depth, is_kthread) AS (
	SELECT upid, 0, is_kthread FROM p
	 WHERE upid IN (SELECT upid FROM shown) AND parent_upid NOT IN (SELECT upid FROM shown)
	 UNION ALL
	SELECT shown.upid, depth + 1, is_kthread FROM tree JOIN shown ON shown.parent_upid = tree.upid
	 ORDER BY 2 DESC, 3, 1),
-- the order in which the recursion meets processes is that of the tree
t AS (SELECT upid, depth, row_number() OVER () AS nth FROM tree)
SELECT p.pid AS pid, p.ppid AS ppid, t.depth AS depth, p.comm AS comm, p.start_ns AS start_ns,
       -- a thread has the CPU for a moment after its end is announced
       max(min(coalesce(p.end_ns, :to), :to) - max(coalesce(p.start_ns, :from), :from),
           coalesce(u.life_ns, 0)) AS wall_ns,
       coalesce(u.oncpu_ns, 0) AS oncpu_ns, m.rss_peak_bytes AS rss_peak_bytes,
       iif(p.exit_code & 127, NULL, p.exit_code >> 8 & 255) AS exit_status, nullif(p.exit_code & 127, 0) AS signal,
       coalesce(nullif(p.cmdline, ''), nullif(p.exe, '')) AS cmdline,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM t JOIN p ON p.upid = t.upid LEFT JOIN u ON u.upid = p.upid
  LEFT JOIN memory_levels(:from, :to, 0, 'process') AS m ON m.upid = p.upid
 ORDER BY t.nth
