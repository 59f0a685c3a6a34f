-- view Memory 6: Who stalled because memory was short, and who was killed?
-- note: A stall is the time from the begin of a reclaim, a compaction or a run of kswapd to its end, clipped to the
--   window; the thread may have slept in it. Stalls that neither begin nor end in the window are missing.
-- by: who
-- needs: mem.pressure alloc.rss?
-- takes: who threads sort
-- figure: stall_ns
-- drops: lost_events reclaimed_bytes stall_max_ns
--
-- The result has one row per process (or thread, comm, cgroup) and kind. Columns:
--   kind             reclaim: a thread had to free memory of the machine itself (direct reclaim); group limit: the
--                    same for a limit of a memory cgroup; compaction: pages were moved to make large free blocks;
--                    kswapd: the kernel freed memory in the background; killed: the OOM killer killed the process
--   stalls           number of stalls that began in the window; 1 for a process that was killed
--   stall_ns, stall_max_ns   their time, all threads added up, and the longest
--   reclaimed_bytes  memory that these reclaims freed
--   rss_bytes        killed: resident memory of the process at that instant
--   limit_of, limit_bytes  killed: memory cgroup that had no room below its limit (that of the process, or one above
--                          it), and this limit; [machine]: no such cgroup, so the machine had no free memory. Empty:
--                          the kernel does not report it (before 6.8, such as Debian's 6.1)
--   at_ns            killed: instant of the kill; otherwise begin of the longest stall
WITH page AS (SELECT CAST(value AS INTEGER) AS bytes FROM info WHERE key = 'page_bytes'),
stall AS (
	SELECT s.utid AS utid, t.upid AS upid, kind, pages, began AS stalls, s.start_ns AS at_ns,
	    s.start_ns + s.dur_ns AS stop_ns,
	       NULL AS rss_bytes, NULL AS limit_of, NULL AS limit_bytes
	  FROM memory_stalls(:from, :to) AS s JOIN threads AS t ON t.utid = s.utid
	UNION ALL
	SELECT k.victim_utid, t.upid, 'killed', NULL, 1, k.ts_ns, NULL,
	       (SELECT m.rss_bytes FROM memory_levels(k.ts_ns, k.ts_ns + 1, 0, 'process') AS m WHERE m.upid = t.upid),
	       CASE WHEN k.limit_pages THEN coalesce((SELECT c.name FROM names AS c
	           WHERE c.type = 'cgroup' AND c.id = k.limit_cgroup_id), '[unknown]') WHEN k.limit_cgroup_id
	               THEN '[machine]' END, k.limit_pages * page_bytes()
	  FROM oom_kills AS k JOIN threads AS t ON t.utid = k.victim_utid WHERE k.ts_ns >= :from AND k.ts_ns < :to),
u AS (
	SELECT *, stop_ns - at_ns AS ns, iif($bycomm, comm_at(upid, at_ns), NULL) AS comm_then,
	       iif($bythreadname, thread_comm_at(utid, at_ns), NULL) AS thread_name_then,
	       row_number() OVER (PARTITION BY utid, kind ORDER BY stop_ns - at_ns DESC, at_ns) AS nth FROM stall)
SELECT $cpukeys u.kind AS kind, sum(u.stalls) AS stalls, sum(u.ns) AS stall_ns, max(u.ns) AS stall_max_ns,
       sum(u.pages) * page.bytes AS reclaimed_bytes, sum(u.rss_bytes) AS rss_bytes, max(u.limit_of) AS limit_of,
           max(u.limit_bytes) AS limit_bytes,
       min(u.at_ns) FILTER (WHERE u.nth = 1) AS at_ns,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM u JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = u.upid, page
 WHERE thread_in_scope(u.utid)
 GROUP BY $cpugroup u.kind
 ORDER BY u.kind = 'killed' DESC, stall_ns DESC, u.kind
