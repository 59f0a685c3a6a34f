-- view Start 2: Why did it take that long?
-- note: The sections show what the threads waited for, what else they did, their longest waits for a CPU and the
--   threads that ran there, their requests, and the threads that woke them. The last section, Path, goes back along
--   the wake-ups from the end of the window to its beginning.
-- nobody: This covers all threads together; give --workload, --pid, --comm, --tid, --thread or --during to select
--   threads.
-- needs: sched.switch sched.wakeup block? alloc.rss? cpu.sample? sched.offcpu? mem.pressure? app.span?
-- reach: before
-- index: states sched requests levels
-- threads: The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes,
--   which belong to processes.
-- takes: who threads sort requests request
-- rows: sums
--
-- The result has several sections about the report's threads (--workload, --pid, --comm, --tid, --thread) in the
-- window:
--   In short           the answers of causes(). With --workload, and by default for a recorded command: up to three
--                      causes, each with its culprit, by their saving (report whatif; if it is not known, or the
--                      window has more than 2 million events, by their time on the path to the end, report path).
--                      Without a selection of threads: the names that were delayed longest, as in the summary.
--                      Then processes that the OOM killer killed. Then threads that were woken in vain, if they ran
--                      for 1 %: at least 8 threads that one thread woke at a futex, each within 1 ms of the one
--                      before, if most of them slept there again after less than 0.2 ms on CPUs (in windows of up to
--                      2 million events). Then the main activity of all threads together, unless a cause names it:
--                      the largest part of their time; the object or system call of half of this part, and the thread
--                      that ended half of it; for a quota, its group; for a CPU, the threads on it during the 20
--                      longest waits; for a disk, the file whose requests took longest, and the process with the most
--                      bytes on the same devices. Then the main activity of idle threads. Last, without --workload,
--                      the largest parts of the path to the end
--   Waited for         their waits, as in report waits: a row per kind and system call, and per lock, socket and file
--                      (object: a variable or an address, the ends of the socket, a path, a descriptor, a process or
--                      a length; the ends of several processes or threads are one object). ended_by is the thread
--                      that ended most of this time, with its TID, and with its share unless it ended all. meanwhile
--                      is the activity of this thread during these waits: the kinds with the most time. For a lock,
--                      ended_by is the holder, or [unknown]: a signal or a time-out ends a wait, but does not hold
--                      the lock. A thread that itself waited for a lock during the wait only passed the lock on;
--                      meanwhile then is the activity of the holders of that lock, one after the other. For the time
--                      before a thread began, meanwhile has the activity of its creator
--   States             their states (report states), all threads added up, with a bar
--   Where it ran       the functions that ran on a CPU (report profile), if samples were recorded: self_ns, the part
--                      of the time in which the function itself ran; called_by, its caller on the stack with the most
--                      time
--   Where it waited    the functions of programs that waited (report offcpu), if stacks of waits were recorded:
--                      wait_ns, the time of the waits that ended in the window; called_by, the caller on the stack that
--                      waited longest
--   Waited longest     their 20 longest waits for a CPU that ended in the window, by their enders
--   Ran instead        the threads on the CPU of such a wait, during these waits
--   Requests           their block requests, as in report latency
--   Files              the files that they read and wrote on a device, those with the longest latency first
--   Beside them        requests of others that the same devices completed
--   Woken by           the enders of their sleeps: a running thread, or [interrupt] (a timer, a device, the network).
--                      slept_ns is the time from leaving the CPU to the wake-up; at_ns is the end of the longest
--   Memory             growth and peak of their resident memory; page faults are not recorded
--   Path               the delays of the end of the window, back to its beginning (report path): if another thread
--                      ended a sleep or created the thread, the path continues with that thread

-- section: In short
SELECT answer FROM causes(:from, :to, :workload, 0) WHERE rank NOT NULL ORDER BY rank

-- section: Waited for (8)
WITH one AS MATERIALIZED (
	SELECT kind, call, object, iif(object NOT NULL, (SELECT t.upid FROM threads AS t WHERE t.utid = e.utid), NULL) AS upid,
	       ender_utid, irq, timeout, meanwhile, sum(waits) AS waits, sum(wait_ns) AS wait_ns,
	       max(wait_max_ns) AS wait_max_ns, sum(meanwhile_ns) AS meanwhile_ns
	  FROM wait_ends(:from, :to) AS e GROUP BY ender_utid, 4, irq, timeout, meanwhile, kind, call, object),
-- the ends of several processes or threads are one thing; it has their name if that is the same
ends AS (SELECT o.kind AS kind, o.call AS call, substr(o.object, 1, instr(o.object, ' ') - 1) AS what,
    count(DISTINCT o.object) AS cnt, min(t.comm) AS comm, max(t.comm) AS last
           FROM (SELECT DISTINCT kind, call, object FROM one WHERE kind = 'child' AND object NOT NULL) AS o
           LEFT JOIN threads AS t ON t.tid = CAST(substr(o.object, instr(o.object, ' ') + 1) AS INTEGER)
               GROUP BY 1, 2, 3 HAVING count(DISTINCT o.object) > 1),
e AS MATERIALIZED (
	SELECT o.kind AS kind, o.call AS call, o.waits AS waits, o.wait_ns AS wait_ns,
	    o.wait_max_ns AS wait_max_ns, o.ender_utid AS ender_utid, o.irq AS irq,
	       o.timeout AS timeout,
	       o.meanwhile AS meanwhile, o.meanwhile_ns AS meanwhile_ns, iif(n.cnt, NULL, o.upid) AS upid,
	       iif(n.cnt, printf('%d %s%s', n.cnt, CASE n.what WHEN 'process' THEN 'processes' ELSE 'threads' END,
	           iif(n.comm = n.last, ' ' || n.comm, '')), o.object) AS object
	  FROM one AS o LEFT JOIN ends AS n ON n.kind = o.kind AND n.call IS o.call AND o.object GLOB n.what || ' *'),
-- what is waited for: a lock, a file or the like of a process, a sleep of a length, or a call
w AS (SELECT kind, call, object, iif(object NOT NULL AND kind <> 'timer', upid, NULL) AS of_upid, sum(waits) AS waits,
    sum(wait_ns) AS wait_ns, max(wait_max_ns) AS wait_max_ns
        FROM e GROUP BY 1, 2, 3, 4),
k AS (SELECT kind, call, sum(waits) AS waits, sum(wait_ns) AS wait_ns, max(wait_max_ns) AS wait_max_ns
        FROM wait_kinds(:from, :to, 0, 'none') GROUP BY 1, 2),
rows AS (
	SELECT kind, call, object, of_upid, waits, wait_ns, wait_max_ns FROM w WHERE object NOT NULL
	UNION ALL
	-- all other waits, those that did not end among them
	SELECT k.kind, k.call, NULL, NULL, k.waits - coalesce(sum(w.waits), 0), k.wait_ns - coalesce(sum(w.wait_ns), 0),
	       iif(count(w.object), NULL, k.wait_max_ns)
	  FROM k LEFT JOIN w ON w.kind = k.kind AND w.call IS k.call AND w.object NOT NULL
	 GROUP BY k.kind, k.call HAVING k.wait_ns > coalesce(sum(w.wait_ns), 0)),
enders AS (
	SELECT kind, call, object, iif(object NOT NULL AND kind <> 'timer', upid, NULL) AS of_upid, ender_utid, irq, timeout,
	       sum(wait_ns) AS wait_ns,
	       row_number() OVER (PARTITION BY kind, call, object, iif(object NOT NULL AND kind <> 'timer', upid, NULL)
	           ORDER BY sum(wait_ns) DESC, ender_utid, irq, timeout) AS n
	  FROM e GROUP BY 1, 2, 3, 4, 5, 6, 7)
SELECT r.kind AS kind, r.call AS call, r.object AS object, r.waits AS waits, r.wait_ns AS wait_ns,
    r.wait_max_ns AS wait_max_ns,
       CASE WHEN n.n THEN coalesce((SELECT printf('%s (%d)', comm, tid) FROM threads WHERE utid = n.ender_utid),
           CASE WHEN n.timeout THEN '[timeout]' WHEN n.irq THEN '[interrupt]' ELSE '[unknown]' END)
                          || iif(n.wait_ns * 100 / r.wait_ns < 99, printf(' %d %%', n.wait_ns * 100 / r.wait_ns),
                             '') END AS ended_by,
       (SELECT group_concat(text, ', ')
          FROM (SELECT printf('%s %d %%', meanwhile, sum(meanwhile_ns) * 100 / n.wait_ns) AS text
                  FROM e WHERE e.kind = r.kind AND e.call IS r.call AND e.object IS r.object
                      AND (r.of_upid IS NULL OR e.upid = r.of_upid)
                   AND e.ender_utid = n.ender_utid AND e.meanwhile NOT NULL
                 GROUP BY meanwhile HAVING sum(meanwhile_ns) * 100 >= n.wait_ns
                     ORDER BY sum(meanwhile_ns) DESC, meanwhile LIMIT 3)) AS meanwhile
  FROM rows AS r LEFT JOIN enders AS n ON n.n = 1 AND n.kind = r.kind AND n.call IS r.call AND n.object IS r.object
      AND n.of_upid IS r.of_upid AND n.wait_ns > 0
 ORDER BY r.kind = 'kernel', r.wait_ns DESC, r.kind, r.call, r.object

-- section: States
SELECT state, ns AS time_ns, round(100.0 * ns / nullif(sum(ns) OVER (), 0), 3) AS share_pct,
       printf('%.*c', (30 * ns + sum(ns) OVER () - 1) / sum(ns) OVER (), '#') AS bar
  FROM (SELECT v.column1 AS n, v.column2 AS state,
               CASE v.column1 WHEN 1 THEN running_ns WHEN 2 THEN runnable_ns WHEN 3 THEN preempted_ns WHEN 4
                   THEN throttled_ns WHEN 5 THEN disk_ns
                    WHEN 6 THEN uninterruptible_ns WHEN 7 THEN sleeping_ns WHEN 8 THEN stopped_ns
                        ELSE unknown_ns END AS ns
          FROM thread_states(:from, :to, 0, 'none')
         CROSS JOIN (VALUES (1, 'running'), (2, 'runnable'), (3, 'preempted'), (4, 'throttled'), (5, 'disk'),
             (6, 'uninterruptible'),
                            (7, 'sleeping'), (8, 'stopped'), (9, 'unknown')) AS v)
 WHERE ns > 0 ORDER BY n

-- section: ?Where it ran (5: report profile)
WITH s AS MATERIALIZED (
	SELECT samples, oncpu_ns, stack_text(stack, last_ns, 'kernel') NOT NULL AS in_kernel,
	       '[' || replace(json_quote(coalesce(stack_text(stack, last_ns), '[no sample]')), ';', '","') || ']' AS frames
	  FROM cpu_profile(:from, :to))
SELECT function, self_ns, round(100.0 * self_ns / nullif(sum(self_ns) OVER (), 0), 3) AS self_pct, samples, called_by
  FROM (SELECT json_extract(frames, '$[#-1]') AS function, sum(oncpu_ns) AS self_ns, sum(samples) AS samples,
               json_extract(frames, '$[#-2]') AS called_by, max(oncpu_ns)
          FROM s GROUP BY 1, in_kernel)
 WHERE (SELECT sum(samples) FROM s) > 0
 ORDER BY self_ns DESC, samples DESC, function

-- section: ?Where it waited (5: report offcpu)
WITH s AS MATERIALIZED (
	SELECT waits, wait_ns, '[' || replace(json_quote(coalesce(stack_text(stack, last_ns, 'user'),
	    stack_text(stack, last_ns),
	       '[no stack]')), ';', '","') || ']' AS frames
	  FROM (SELECT stack, count(*) AS waits, sum(dur_ns) AS wait_ns, max(ts_ns - dur_ns) AS last_ns
	          FROM offcpu_waits(:from, :to) WHERE thread_in_scope(utid, ts_ns) GROUP BY utid, stack))
SELECT function, wait_ns, waits, called_by
  FROM (SELECT json_extract(frames, '$[#-1]') AS function, sum(wait_ns) AS wait_ns, sum(waits) AS waits,
               json_extract(frames, '$[#-2]') AS called_by, max(wait_ns) FROM s GROUP BY 1)
 ORDER BY wait_ns DESC, function

-- section: ?Waited longest (4)
SELECT p.pid AS pid, t.tid AS tid, t.comm AS comm, u.start_ns AS at_ns, u.wait_ns AS wait_ns, u.wait_reason AS reason,
    u.cpu AS cpu
  FROM (SELECT utid, start_ns, wait_ns, wait_reason, cpu FROM sched_slices(:from, :to)
         WHERE wait_ns > 0 AND thread_in_scope(utid, start_ns)
         ORDER BY wait_ns DESC, start_ns LIMIT 20) AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
 ORDER BY u.wait_ns DESC, u.start_ns

-- section: ?Ran instead (4)
WITH w AS MATERIALIZED (
	SELECT start_ns, wait_ns, cpu FROM sched_slices(:from, :to)
	 WHERE wait_ns > 0 AND thread_in_scope(utid, start_ns)
	 ORDER BY wait_ns DESC, start_ns LIMIT 20)
SELECT p.pid AS pid, p.comm AS comm, o.cpu AS cpu, sum(o.oncpu_ns) AS oncpu_ns
  FROM (SELECT s.utid, s.cpu,
               sum(min(s.end_ns, w.start_ns) - max(s.start_ns, w.start_ns - w.wait_ns)) AS oncpu_ns
          FROM sched_slices(:from, :to) AS s CROSS JOIN w
         WHERE s.cpu = w.cpu AND s.start_ns < w.start_ns AND s.end_ns > w.start_ns - w.wait_ns
             GROUP BY s.utid, s.cpu) AS o
  JOIN threads AS t ON t.utid = o.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY p.upid, o.cpu ORDER BY oncpu_ns DESC, pid

-- section: ?Requests (3)
SELECT device_name(dev) AS device, op, ios, bytes, lat_p50_ns, lat_max_ns, queue_max_ns, device_max_ns
  FROM io_usage(:from, :to, 0, 'none') WHERE ios > 0 ORDER BY lat_sum_ns DESC

-- section: ?Files (3)
SELECT file, op, count(*) AS ios, sum(bytes) AS bytes, max(latency_ns) AS lat_max_ns
  FROM request_parts
 WHERE end_ns >= :from AND end_ns < :to AND file NOT NULL
   AND iif(owner_upid = submitter_upid, thread_in_scope(submitter_utid, end_ns), in_scope(owner_upid, end_ns))
 GROUP BY file, op ORDER BY max(latency_ns) DESC, file

-- section: ?Beside them (3)
SELECT p.pid AS pid, p.comm AS comm, device_name(b.dev) AS device, b.op AS op, count(*) AS ios, sum(b.bytes) AS bytes
  FROM block_requests AS b LEFT JOIN processes AS p ON p.upid = b.submitter_upid
 WHERE b.end_ns >= :from AND b.end_ns < :to AND NOT thread_in_scope(b.submitter_utid)
   AND b.dev IN (SELECT dev FROM io_usage(:from, :to, 0, 'none') WHERE ios > 0)
 GROUP BY b.submitter_upid, b.dev, b.op ORDER BY bytes DESC, ios DESC

-- section: ?Woken by (4)
SELECT p.pid AS pid, CASE WHEN u.irq THEN '[interrupt]' ELSE p.comm END AS comm, u.wakeups AS wakeups,
       u.slept_ns AS slept_ns, u.slept_max_ns AS slept_max_ns, u.at_ns AS at_ns
  FROM woken_by(:from, :to) AS u LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY slept_ns DESC, u.irq DESC, u.upid

-- section: ?Memory (2)
SELECT u.name AS comm, u.alloc_bytes AS rss_grown_bytes, u.peak_bytes AS rss_peak_bytes, u.peak_ns AS rss_peak_at_ns
  FROM alloc_usage(:from, :to, 0, 'comm') AS u WHERE u.source = 'rss' AND u.alloc_bytes > 0
 ORDER BY u.alloc_bytes DESC

-- section: ?Path (5: report path)
SELECT pid, comm, kind, call, object, parts, path_ns, share_pct FROM (
-- rows of path
)

-- section: +Rules
SELECT rule, rank, cost_ns, verdict, answer, command FROM causes(:from, :to, :workload, 0)
 ORDER BY rank IS NULL, rank, rule
