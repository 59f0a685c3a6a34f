-- view Start 2: Why did it take that long?
-- note: The sections say what the threads waited for, what else they did, where they waited
--   longest for a CPU and who ran there, which requests they made, and who woke them. The last
--   section, Path, goes back along the wake-ups from the end of the window to its beginning.
-- nobody: This is about all threads together; give --workload, --pid, --comm, --tid, --thread or --during.
-- needs: sched.switch sched.wakeup block? alloc.rss? cpu.sample? sched.offcpu? mem.pressure?
-- reach: before state
-- index: states sched requests levels
-- threads: The figures are of threads (--tid, --thread): resident and mapped memory and spikes belong to
--   processes, and are left out.
-- takes: who threads sort
-- rows: sums
--
-- The result has several sections about the report's threads (--workload, --pid, --comm, --tid, --thread) in the
-- window:
--   In short           with --workload, and by default for a recorded command, first up to three parts of the path to
--                      the end of the window (report path): what a thread did or waited for, and the object of half of
--                      it; idle waits (poll, condition, timer, child, signal) after the others; then processes among
--                      them that the OOM killer killed; the largest part of their time; the object or system call of
--                      half of this part, and the thread that ended half of it; for a quota, its group; for a CPU, the
--                      threads on it during the 20 longest waits; for a disk, the file whose requests took longest, and
--                      the process that moved most on the same devices; then the main activity of idle threads; last,
--                      the largest part of the path to the end
--   Waited for         their waits, as in report waits: a row per kind and system call, and per lock, socket and
--                      file (object: a variable or an address, the ends of the socket, a path, a descriptor, a process
--                      or a length; the ends of several processes or threads are one). ended_by is the thread
--                      that ended most of this time, with its TID, and its share unless it
--                      ended all. meanwhile is what this thread did during these waits: the kinds that took the most.
--                      For a lock, ended_by is the holder, or [unknown]: a signal or a time-out ends a wait, but holds
--                      nothing. A thread that itself waited for a lock during the wait only passed the lock on;
--                      meanwhile then has what the holders of that lock did, one after the other. Before a thread
--                      began, it has what the thread did that created it
--   States             their states (report states), threads added up, with a bar
--   Where it ran       the functions that ran on a CPU (report profile), if samples were recorded: self_ns, the part of
--                      the time in which the function itself ran; called_by, its caller on the stack that has the most
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
WITH k AS MATERIALIZED (SELECT kind, call, sum(wait_ns) AS wait_ns FROM wait_kinds(:from, :to, 0, 'none')
    GROUP BY kind, call),
s AS MATERIALIZED (
	SELECT running_ns, running_ns + runnable_ns + preempted_ns + throttled_ns + disk_ns + uninterruptible_ns + sleeping_ns
	    + stopped_ns + unknown_ns AS life_ns
	  FROM thread_states(:from, :to, 0, 'none')),
-- time on CPUs, and each kind of wait; what idle threads do counts where nothing else took a twentieth of the time
t AS (SELECT 'running' AS kind, running_ns AS ns, 1 AS busy FROM s
      UNION ALL
      SELECT kind, sum(wait_ns), kind IN ('cpu', 'throttled', 'disk', 'lock', 'socket', 'pipe', 'fault', 'call') FROM k
          GROUP BY kind),
top AS MATERIALIZED (
	SELECT t.kind AS kind, t.ns AS ns, s.life_ns AS life_ns FROM t, s WHERE t.ns > 0
	 ORDER BY t.kind = 'kernel', busy AND 20 * t.ns >= s.life_ns DESC, t.ns DESC, t.kind LIMIT 1),
-- waits with an ender, if the kind of wait can have one
e AS MATERIALIZED (
	SELECT e.*, t.upid AS upid
	  FROM top CROSS JOIN wait_ends(:from, :to) AS e JOIN threads AS t ON t.utid = e.utid
	      WHERE e.kind = top.kind AND top.kind IN ('lock', 'condition', 'socket', 'pipe', 'poll', 'fault', 'call', 'child',
	          'signal', 'timer')),
object AS (SELECT object, call, sum(wait_ns) AS ns
             FROM e WHERE object NOT NULL GROUP BY upid, object ORDER BY ns DESC, object LIMIT 1),
call AS (SELECT k.call AS call, k.wait_ns AS ns FROM k, top WHERE k.kind = top.kind AND k.call NOT NULL
    ORDER BY k.wait_ns DESC, k.call LIMIT 1),
-- the enders of the waits in the sentence before: those for the object, or all of the kind
most AS MATERIALIZED (
	SELECT e.*, t.comm AS comm FROM e JOIN threads AS t ON t.utid = e.ender_utid
	 WHERE NOT EXISTS (SELECT 1 FROM object, top WHERE 2 * object.ns >= top.ns) OR e.object = (SELECT object FROM object)),
ender AS (SELECT comm, sum(wait_ns) AS ns FROM most GROUP BY comm ORDER BY ns DESC, comm LIMIT 1),
meanwhile AS (SELECT group_concat(text, ', ') AS text
                FROM (SELECT printf('%s %d %%', m.meanwhile, sum(m.meanwhile_ns) * 100 / ender.ns) AS text
                        FROM most AS m, ender WHERE m.comm = ender.comm AND m.meanwhile NOT NULL
                       GROUP BY m.meanwhile HAVING sum(m.meanwhile_ns) * 20 >= ender.ns
                           ORDER BY sum(m.meanwhile_ns) DESC, m.meanwhile LIMIT 2)),
-- the group that was throttled most, and the quota that it had last, of its own or of a group above it
quota AS (
	SELECT coalesce(q.quota_of, p.cgroup) AS cgroup, q.quota_ns AS quota_ns, q.period_ns AS period_ns, sum(u.wait_ns) AS ns
	  FROM top CROSS JOIN wait_kinds(:from, :to, 0, 'process') AS u JOIN processes AS p ON p.upid = u.upid
	  JOIN quotas AS q ON q.cgroup_id = p.cgroup_id AND q.from_ns = (SELECT max(from_ns) FROM quotas
	      WHERE cgroup_id = q.cgroup_id AND from_ns < :to)
	 WHERE top.kind = 'throttled' AND u.kind = 'throttled' AND coalesce(q.quota_of, p.cgroup) NOT NULL GROUP BY 1
	     ORDER BY ns DESC, 1 LIMIT 1),
-- the longest waits for a CPU, and the threads on it during them
w AS MATERIALIZED (
	SELECT x.start_ns AS start_ns, x.wait_ns AS wait_ns, x.cpu AS cpu FROM top CROSS JOIN sched_slices(:from, :to) AS x
	 WHERE top.kind = 'cpu' AND x.wait_ns > 0 AND thread_in_scope(x.utid) ORDER BY x.wait_ns DESC, x.start_ns LIMIT 20),
ran AS (SELECT p.comm AS comm, 100 * sum(min(x.end_ns, w.start_ns) - max(x.start_ns, w.start_ns - w.wait_ns)) /
    (SELECT sum(wait_ns) FROM w) AS pct
          FROM top CROSS JOIN sched_slices(:from, :to) AS x CROSS JOIN w CROSS JOIN threads AS p
         WHERE top.kind = 'cpu' AND p.utid = x.utid AND x.cpu = w.cpu AND x.start_ns < w.start_ns
             AND x.end_ns > w.start_ns - w.wait_ns
         GROUP BY p.upid, p.comm ORDER BY pct DESC, p.upid, p.comm LIMIT 1),
-- requests of the threads, and those of others on the same devices
r AS MATERIALIZED (
	SELECT b.*, iif(b.owner_upid = b.submitter_upid, thread_in_scope(b.submitter_utid), in_scope(b.owner_upid)) AS mine
	  FROM top CROSS JOIN block_requests AS b WHERE top.kind = 'disk' AND b.end_ns >= :from AND b.end_ns < :to),
file AS (SELECT file, sum(latency_ns) AS ns, sum(bytes) AS bytes FROM r WHERE mine GROUP BY file ORDER BY ns DESC, file
    LIMIT 1),
beside AS (SELECT t.comm AS comm, sum(r.bytes) AS bytes FROM r JOIN threads AS t ON t.utid = r.submitter_utid
            WHERE NOT r.mine AND NOT thread_in_scope(r.submitter_utid) AND r.dev IN (SELECT dev FROM r WHERE mine)
                GROUP BY t.upid, t.comm ORDER BY bytes DESC, t.upid, t.comm LIMIT 1),
phrases AS (SELECT column1 AS kind, column2 AS what
    FROM (VALUES ('running', 'on CPUs'), ('throttled', 'by a quota of CPU time'), ('cpu', 'for a CPU'),
        ('disk', 'for a disk'), ('lock', 'for locks'),
	('fault', 'for pages'), ('poll', 'for events'), ('call', 'in system calls'), ('kernel', 'for work, as kernel threads'),
	('condition', 'for condition variables'), ('socket', 'for sockets'), ('pipe', 'for pipes'),
	    ('timer', 'for timers'), ('child', 'for children'), ('signal', 'for signals'))),
-- the main activity of idle threads, unless the first sentence is about it
idle AS (SELECT t.ns AS ns, t.kind AS kind, p.what AS what FROM t
    JOIN phrases AS p ON p.kind = t.kind AND p.kind IN ('poll', 'condition', 'timer', 'child', 'signal'), top
          WHERE t.kind <> top.kind AND t.ns > top.ns AND 2 * t.ns >= top.life_ns),
-- causes by their time on the path to the end of the workload; a path of less than a tenth of the window is no cause
steps AS MATERIALIZED (
	SELECT c.utid AS utid, c.kind AS kind, c.call AS call, c.object AS object, sum(c.end_ns - c.start_ns) AS ns
	  FROM (SELECT 1 WHERE :workload) CROSS JOIN blocking_chain(:from, :to) AS c
	 WHERE c.kind NOT IN ('unknown', 'ended') GROUP BY c.utid, c.kind, c.call, c.object),
on_path AS (SELECT t.comm AS comm, c.kind AS kind, sum(c.ns) AS ns,
    c.kind IN ('poll', 'condition', 'timer', 'child', 'signal', 'kernel') AS is_idle
              FROM steps AS c JOIN threads AS t ON t.utid = c.utid GROUP BY t.comm, c.kind),
causes AS MATERIALIZED (SELECT * FROM on_path WHERE 10 * ns >= :to - :from ORDER BY is_idle, ns DESC, comm, kind
    LIMIT 3),
on_what AS (SELECT t.comm AS comm, s.kind AS kind, coalesce(s.object, s.call) AS what,
    max(s.object NOT NULL) AS is_object, sum(s.ns) AS ns FROM steps AS s JOIN threads AS t ON t.utid = s.utid
             WHERE coalesce(s.object, s.call) NOT NULL GROUP BY 1, 2, 3),
cause_lines AS (SELECT rtrim(printf('%s %s %s of %s (%d %%) %s', c.comm,
    CASE c.kind WHEN 'running' THEN 'ran for' WHEN 'stopped' THEN 'was stopped for' WHEN 'throttled'
                       THEN 'was throttled for' ELSE 'waited' END, duration_text(c.ns), duration_text(:to - :from),
                           100 * c.ns / (:to - :from),
                       coalesce((SELECT what FROM phrases WHERE phrases.kind = c.kind), '')))
                           || coalesce((SELECT ': ' || iif(c.kind = 'timer' AND w.is_object, 'sleeps of ', '') || w.what
                              FROM on_what AS w WHERE w.comm = c.comm AND w.kind = c.kind
                        AND 2 * w.ns >= c.ns ORDER BY w.ns DESC LIMIT 1), '') AS answer, is_idle, ns
                  FROM causes AS c),
-- the largest part of the path to the end, if the report is about some processes only
some AS MATERIALIZED (SELECT 1 FROM processes WHERE upid > 3 AND NOT is_recorder AND NOT in_scope(upid) LIMIT 1),
chain AS (SELECT c.kind AS kind, printf('%s %s %d %%', t.comm, c.kind,
    100 * sum(c.end_ns - c.start_ns) / (:to - :from)) AS text
            FROM some CROSS JOIN blocking_chain(:from, :to) AS c JOIN threads AS t ON t.utid = c.utid
           WHERE c.kind NOT IN ('unknown', 'ended') AND NOT :workload
           GROUP BY t.comm, c.kind HAVING 10 * sum(c.end_ns - c.start_ns) >= :to - :from
               ORDER BY sum(c.end_ns - c.start_ns) DESC, t.comm, c.kind LIMIT 2),
-- stalls because memory was short (report pressure), which are part of a wait or of running
stalled AS MATERIALIZED (
	SELECT utid, CASE kind WHEN 'group limit' THEN 'reclaim for the limit of a memory cgroup' WHEN 'compaction'
	    THEN 'compaction of memory'
	       ELSE 'direct reclaim' END AS kind, sum(began) AS stalls, sum(dur_ns) AS ns
	  FROM memory_stalls(:from, :to) WHERE kind <> 'kswapd' GROUP BY 1, 2)
SELECT printf('Killed by the OOM killer: %s, %s%sat %.3f s', p.comm, coalesce(printf('%.1f MiB, ',
              (SELECT m.rss_bytes FROM memory_levels(k.ts_ns, k.ts_ns + 1, 0, 'process') AS m
                  WHERE m.upid = p.upid) / 1048576.0), ''),
              coalesce(printf('limit of %s %.1f MiB, ',
                  coalesce((SELECT c.name FROM names AS c WHERE c.type = 'cgroup' AND c.id = k.limit_cgroup_id),
                      'its memory cgroup'),
              k.limit_pages * page_bytes() / 1048576.0), ''), k.ts_ns / 1e9) AS answer
  FROM oom_kills AS k JOIN threads AS t ON t.utid = k.victim_utid JOIN processes AS p ON p.upid = t.upid
 WHERE k.ts_ns >= :from AND k.ts_ns < :to AND thread_in_scope(k.victim_utid)
UNION ALL SELECT answer FROM (SELECT answer FROM cause_lines WHERE NOT is_idle ORDER BY ns DESC, answer)
UNION ALL
SELECT rtrim(printf('%s %s of %s (%d %%) %s', CASE kind WHEN 'running' THEN 'All threads together ran for'
    WHEN 'stopped' THEN 'All threads together were stopped for' WHEN 'throttled'
              THEN 'All threads together were throttled for' WHEN 'unknown' THEN 'What the threads did is not known for'
                  ELSE 'All threads together waited' END,
              duration_text(ns), duration_text(life_ns), ns * 100 / life_ns,
              coalesce((SELECT what FROM phrases WHERE phrases.kind = top.kind), ''))) AS answer
  FROM top
UNION ALL SELECT printf('%s in %s', duration_text(sum(u.ns)), u.kind) FROM stalled AS u
    JOIN threads AS t ON t.utid = u.utid
           WHERE thread_in_scope(u.utid) AND t.comm NOT GLOB 'kcompactd*' GROUP BY u.kind
               HAVING sum(u.ns) >= min(100000000, (:to - :from) / 100)
UNION ALL SELECT printf('%s of that was in %s, which has %s of each %s', duration_text(ns), cgroup,
    duration_text(quota_ns), duration_text(period_ns)) FROM quota
UNION ALL SELECT printf('%s of that was for %s%s (%s)', duration_text(object.ns),
    iif(top.kind = 'timer', 'sleeps of ', ''), object.object, object.call)
  FROM object, top WHERE 2 * object.ns >= top.ns
UNION ALL SELECT printf('%s of that was in %s', duration_text(call.ns), call.call) FROM call, top
           WHERE top.kind IN ('call', 'timer') AND 2 * call.ns >= top.ns AND NOT EXISTS (SELECT 1 FROM object
               WHERE 2 * object.ns >= top.ns)
UNION ALL SELECT printf('%s ended %s of that; what it did meanwhile: %s', ender.comm, duration_text(ender.ns),
    coalesce(meanwhile.text, 'unknown'))
  FROM ender, meanwhile WHERE 2 * ender.ns >= (SELECT sum(wait_ns) FROM most)
UNION ALL SELECT printf('%s had the CPU for %d %% of the longest of these waits', comm, pct) FROM ran WHERE pct >= 25
UNION ALL SELECT printf('Of the file %s they moved %.3g %s', file, iif(bytes < 1e9, bytes / 1e6, bytes / 1e9),
    iif(bytes < 1e9, 'MB', 'GB')) FROM file WHERE file NOT NULL
UNION ALL SELECT printf('Beside them, %s moved %.3g %s on the same disk', comm,
    iif(bytes < 1e9, bytes / 1e6, bytes / 1e9), iif(bytes < 1e9, 'MB', 'GB')) FROM beside
UNION ALL SELECT answer FROM (SELECT answer FROM cause_lines WHERE is_idle ORDER BY ns DESC, answer)
UNION ALL SELECT printf('Most of the time, %s of %s, they waited %s', duration_text(idle.ns),
    duration_text(top.life_ns), idle.what) FROM idle, top
-- not if it is one part, and a sentence before says so
UNION ALL SELECT 'Path to the end: ' || group_concat(chain.text, ', ') FROM chain, top
 HAVING count(*) > 1 OR (count(*) AND chain.kind NOT IN (top.kind, coalesce((SELECT kind FROM idle), ''))
			 AND coalesce((SELECT text FROM meanwhile), '') NOT GLOB chain.kind || ' *')

-- section: Waited for (8)
WITH one AS MATERIALIZED (SELECT e.*, t.upid AS upid FROM wait_ends(:from, :to) AS e
    JOIN threads AS t ON t.utid = e.utid),
-- the ends of several processes or threads are one thing; it has their name if that is the same
ends AS (SELECT o.kind AS kind, o.call AS call, substr(o.object, 1, instr(o.object, ' ') - 1) AS what,
    count(DISTINCT o.object) AS cnt, min(t.comm) AS comm, max(t.comm) AS last
           FROM (SELECT DISTINCT kind, call, object FROM one WHERE kind = 'child' AND object NOT NULL) AS o
           LEFT JOIN threads AS t ON t.tid = CAST(substr(o.object, instr(o.object, ' ') + 1) AS INTEGER)
               GROUP BY 1, 2, 3 HAVING count(DISTINCT o.object) > 1),
e AS MATERIALIZED (
	SELECT o.utid AS utid, o.kind AS kind, o.call AS call, o.waits AS waits, o.wait_ns AS wait_ns,
	    o.wait_max_ns AS wait_max_ns, o.ender_utid AS ender_utid, o.irq AS irq,
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
	SELECT kind, call, object, iif(object NOT NULL AND kind <> 'timer', upid, NULL) AS of_upid, ender_utid, irq,
	    sum(wait_ns) AS wait_ns,
	       row_number() OVER (PARTITION BY kind, call, object, iif(object NOT NULL AND kind <> 'timer', upid, NULL)
	           ORDER BY sum(wait_ns) DESC, ender_utid, irq) AS n
	  FROM e GROUP BY 1, 2, 3, 4, 5, 6)
SELECT r.kind AS kind, r.call AS call, r.object AS object, r.waits AS waits, r.wait_ns AS wait_ns,
    r.wait_max_ns AS wait_max_ns,
       CASE WHEN n.n THEN coalesce((SELECT printf('%s (%d)', comm, tid) FROM threads WHERE utid = n.ender_utid),
           iif(n.irq, '[interrupt]', '[unknown]'))
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
