-- view 7: Why did it take that long?
-- note: Below the waits and states are the longest waits for a CPU and what ran there instead, the requests, who
--   ended the sleep, and the chain: from the window's end back along the wake-ups, in the last second.
-- nobody: This is about all threads together; give --pid, --comm, --tid, --thread or --during.
-- needs: sched.switch sched.wakeup block? alloc.rss?
-- reach: before
-- index: states sched requests levels
-- threads: The figures are of threads (--tid, --thread): resident and mapped memory and spikes belong to
--   processes, and are left out.
-- takes: who threads sort
-- rows: sums
--
-- The result has several sections about the report's threads (--pid, --comm, --tid, --thread) in the window:
--   Waited for         what they waited for, as in report waits: a row per kind and system call. ended_by is the thread
--                      that ended most of this time, with its share if others did, too, and meanwhile what this thread
--                      did during these waits: the kinds that took the most. For a lock it is who held it
--   States             what they did (report states), threads added up, with a bar
--   Waited longest     their 20 longest waits for a CPU that ended in the window, by what ended them
--   Ran instead        who had the CPU on which such a wait ended, during these waits
--   Requests           their block requests, as in report latency
--   Files              the files that they read and wrote on a device, those with the longest latency first
--   Beside them        requests of others that the same devices completed
--   Woken by           who ended their sleep: a thread that ran, or [interrupt] (a timer, a device, the network).
--                      slept_ns is the time from leaving the CPU to the wake-up; at_ns is the end of the longest
--   Memory             growth and peak of their resident memory; page faults are not recorded
--   Chain              the blocking chain in the last second of the window, the latest link first. It begins
--                      with the thread that was last on a CPU. A link is the time start_ns to end_ns in which
--                      a thread was awake (dur_ns: it ran or waited for a CPU) after the sleep before. If
--                      another thread ended this sleep, the chain goes on with that thread at the wake-up; if
--                      an interrupt did, with the same thread before the sleep, which lasted slept_ns. The
--                      chain takes every wake-up for the cause, also one that came for another reason; it
--                      ends after 20 links, and at a wake-up by a task that is not known.

-- section: Waited for (8)
WITH e AS MATERIALIZED (
	SELECT kind, call, coalesce(t.comm, '[interrupt]') AS comm, irq, wait_ns, meanwhile,
	       row_number() OVER (PARTITION BY kind, call ORDER BY wait_ns DESC, irq DESC, e.utid) AS n,
	       100 * wait_ns / nullif(sum(wait_ns) OVER (PARTITION BY kind, call), 0) AS share
	  FROM wait_ends(:from, :to) AS e LEFT JOIN threads AS t ON t.utid = e.utid)
SELECT k.kind AS kind, k.call AS call, k.waits AS waits, k.wait_ns AS wait_ns, k.wait_max_ns AS wait_max_ns,
       CASE WHEN e.n THEN e.comm || CASE WHEN e.share < 100 THEN printf(' %d %%', e.share) ELSE '' END END AS ended_by,
       e.meanwhile AS meanwhile
  FROM (SELECT kind, call, sum(waits) AS waits, sum(wait_ns) AS wait_ns, max(wait_max_ns) AS wait_max_ns
          FROM wait_kinds(:from, :to, 0, 'none') GROUP BY kind, call) AS k
  LEFT JOIN e ON e.n = 1 AND e.kind = k.kind AND e.call IS k.call
 ORDER BY k.kind = 'kernel', k.wait_ns DESC, k.kind, k.call

-- section: States
SELECT state, ns AS time_ns, round(100.0 * ns / nullif(sum(ns) OVER (), 0), 3) AS share_pct,
       printf('%.*c', (30 * ns + sum(ns) OVER () - 1) / sum(ns) OVER (), '#') AS bar
  FROM (SELECT v.column1 AS n, v.column2 AS state,
               CASE v.column1 WHEN 1 THEN running_ns WHEN 2 THEN runnable_ns WHEN 3 THEN preempted_ns WHEN 4 THEN throttled_ns WHEN 5 THEN disk_ns
                    WHEN 6 THEN uninterruptible_ns WHEN 7 THEN sleeping_ns WHEN 8 THEN stopped_ns ELSE unknown_ns END AS ns
          FROM thread_states(:from, :to, 0, 'none')
         CROSS JOIN (VALUES (1, 'running'), (2, 'runnable'), (3, 'preempted'), (4, 'throttled'), (5, 'disk'), (6, 'uninterruptible'),
                            (7, 'sleeping'), (8, 'stopped'), (9, 'unknown')) AS v)
 WHERE ns > 0 ORDER BY n

-- section: Waited longest (4)
SELECT p.pid AS pid, t.comm AS comm, u.start_ns AS at_ns, u.wait_ns AS wait_ns, u.wait_reason AS reason, u.cpu AS cpu
  FROM (SELECT utid, start_ns, wait_ns, wait_reason, cpu FROM sched_slices(:from, :to)
         WHERE wait_ns > 0 AND thread_in_scope(utid)
         ORDER BY wait_ns DESC, start_ns LIMIT 20) AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
 ORDER BY u.wait_ns DESC, u.start_ns

-- section: Ran instead (4)
WITH w AS MATERIALIZED (
	SELECT start_ns, wait_ns, cpu FROM sched_slices(:from, :to)
	 WHERE wait_ns > 0 AND thread_in_scope(utid)
	 ORDER BY wait_ns DESC, start_ns LIMIT 20)
SELECT p.pid AS pid, p.comm AS comm, o.cpu AS cpu, sum(o.oncpu_ns) AS oncpu_ns
  FROM (SELECT s.utid, s.cpu,
               sum(min(s.end_ns, w.start_ns) - max(s.start_ns, w.start_ns - w.wait_ns)) AS oncpu_ns
          FROM sched_slices(:from, :to) AS s CROSS JOIN w
         WHERE s.cpu = w.cpu AND s.start_ns < w.start_ns AND s.end_ns > w.start_ns - w.wait_ns GROUP BY s.utid, s.cpu) AS o
  JOIN threads AS t ON t.utid = o.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY p.upid, o.cpu ORDER BY oncpu_ns DESC, pid

-- section: Requests (3)
SELECT device_name(dev) AS device, op, ios, bytes, lat_p50_ns, lat_max_ns, queue_max_ns, device_max_ns
  FROM io_usage(:from, :to, 0, 'none') WHERE ios > 0 ORDER BY lat_sum_ns DESC

-- section: Files (3)
SELECT file, op, count(*) AS ios, sum(bytes) AS bytes, max(latency_ns) AS lat_max_ns
  FROM block_requests
 WHERE end_ns >= :from AND end_ns < :to AND file NOT NULL
   AND iif(owner_upid = submitter_upid, thread_in_scope(submitter_utid), in_scope(owner_upid))
 GROUP BY file, op ORDER BY max(latency_ns) DESC, file

-- section: Beside them (3)
SELECT p.pid AS pid, p.comm AS comm, device_name(b.dev) AS device, b.op AS op, count(*) AS ios, sum(b.bytes) AS bytes
  FROM block_requests AS b LEFT JOIN processes AS p ON p.upid = b.submitter_upid
 WHERE b.end_ns >= :from AND b.end_ns < :to AND NOT thread_in_scope(b.submitter_utid)
   AND b.dev IN (SELECT dev FROM io_usage(:from, :to, 0, 'none') WHERE ios > 0)
 GROUP BY b.submitter_upid, b.dev, b.op ORDER BY bytes DESC, ios DESC

-- section: Woken by (4)
SELECT p.pid AS pid, CASE WHEN u.irq THEN '[interrupt]' ELSE p.comm END AS comm, u.wakeups AS wakeups,
       u.slept_ns AS slept_ns, u.slept_max_ns AS slept_max_ns, u.at_ns AS at_ns
  FROM woken_by(:from, :to) AS u LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY slept_ns DESC, u.irq DESC, u.upid

-- section: Memory (2)
SELECT u.name AS comm, u.alloc_bytes AS rss_grown_bytes, u.peak_bytes AS rss_peak_bytes, u.peak_ns AS rss_peak_at_ns
  FROM alloc_usage(:from, :to, 0, 'comm') AS u WHERE u.source = 'rss' AND u.alloc_bytes > 0
 ORDER BY u.alloc_bytes DESC

-- section: Chain (8)
SELECT p.pid AS pid, t.comm AS comm, coalesce(c.woken_ns, max(:from, :to - 1000000000, 0)) AS start_ns, c.until_ns AS end_ns,
       c.until_ns - coalesce(c.woken_ns, max(:from, :to - 1000000000, 0)) AS dur_ns,
       CASE WHEN c.woken_ns IS NULL THEN 'since before' WHEN c.irq THEN 'woken by an interrupt'
            WHEN c.waker_utid >= 16 THEN 'woken by the next' ELSE 'woken by an unknown task' END AS link,
       CASE WHEN c.irq THEN c.woken_ns - c.left_ns END AS slept_ns
  FROM blocking_chain(max(:from, :to - 1000000000, 0), :to) AS c
  JOIN threads AS t ON t.utid = c.utid JOIN processes AS p ON p.upid = t.upid
 ORDER BY c.n
