-- view Start 1: What happened, and who used the most?
-- note: Each section is the beginning of another view.
-- below: Why a name was slow: ebpfrec report why --comm NAME
-- needs: sched.switch alloc.rss block sched? alloc? mem?
-- reach: before state
-- index: sched states requests levels rates
-- threads: The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes,
--   which belong to processes.
-- takes: who threads spikes
-- drops: lat_p50_ns lat_p99_ns why traces started_utc window
-- rows: sums
--
-- The result has several sections, each the beginning of another view, with the definitions of that
-- view. A row of a name adds up all processes of that name; pid is set if there is only one process.
--
-- Machine: the whole machine, also with --pid and other options that select tasks, or empty if only
-- some processes were recorded (--only) or kept (cut --comm). cpu_busy_pct is of all CPUs, without
-- idle, the recorder, and time whose thread is unknown because of lost switches; requests count on
-- each layer of stacked devices.
-- Memory: rss_peak_bytes is the highest resident memory of all processes of the row (of the machine,
-- in Machine) together at one instant; memory that they share counts for each.
-- Waiting: the time in which the threads of a name waited. cpu_wait_ns is the time from runnable to running;
-- disk_wait_ns and uninterruptible_ns are those of `states`: sleeps with a block request of the thread in flight, and
-- other uninterruptible sleeps. waited_for: the two kinds of `waits` with the most of this waiting time.
--
-- Rules judged: the results of `ebpfrec assert --keep`, with their time, and with the window and start of the judged
-- trace (a cut keeps the results of the trace it was cut out of), from the notes assert.01 and so on. They do not
-- depend on the window of the report.
--
-- :brief is 1 for a report of one screen. A section whose title begins with + is then omitted.
--
-- The first lines name up to three causes, and the last lines a command for each. With a recorded command, the causes
-- are those that delayed its end longest: by their saving if whatif knows it and the window has at most 2 million
-- events, otherwise by their time on the path to the end (report path). Without a recorded command, the causes are
-- the names that were delayed longest, if this is at least a twentieth of the window; otherwise a name that had a CPU
-- for half of the window. A name is delayed while it waits for a CPU, a quota, a disk or a page. In a workload (-p,
-- --cgroup), only the workload's names count, and a wait for a lock, a pipe, a socket or in another call is a delay,
-- too: on a whole machine, these are mostly waits of idle threads. A burst of memory is a cause, too.

-- section: =Causes
WITH c AS MATERIALIZED (SELECT answer, command, row_number() OVER (ORDER BY rank) AS nth
	  FROM causes(:from, :to, :workload, 1) WHERE rank NOT NULL),
next AS (SELECT min(nth) AS nth, printf('%s %s: ebpfrec report %s%s', iif(count(*) > 1, 'Causes', 'Cause'),
		group_concat(nth, ', '), command, :hint_options) AS command
	  FROM (SELECT * FROM c ORDER BY nth) WHERE command NOT NULL GROUP BY command)
SELECT printf('%d. %s', c.nth, c.answer), next.command FROM c LEFT JOIN next USING (nth) ORDER BY c.nth

-- section: *Causes
SELECT answer, cost_ns, 'ebpfrec report ' || command AS command, rule
  FROM causes(:from, :to, :workload, 1) WHERE rank NOT NULL ORDER BY rank

-- section: ^Others
SELECT printf('%s. Others used %d %% of the CPUs%s: ebpfrec report --machine%s', c.command,
    round(100.0 * sum(u.ns) / span_ns / cpus),
	      iif(round(100.0 * sum(u.ns) / span_ns / cpus) > 0, ', mostly ' || max(u.comm) FILTER (WHERE u.nth = 1), ''),
	      :hint_options) AS answer
  FROM (SELECT value AS command FROM info WHERE key = 'command') AS c,
       (SELECT p.comm AS comm, sum(a.oncpu_ns) AS ns, max(a.span_ns) AS span_ns,
           row_number() OVER (ORDER BY sum(a.oncpu_ns) DESC, p.comm) AS nth
	  FROM cpu_usage(:from, :to) AS a JOIN processes AS p ON p.upid = a.upid
	 WHERE p.upid > 3 AND NOT p.is_workload GROUP BY p.comm) AS u,
       (SELECT count(*) AS cpus FROM cpus)
 WHERE :of_command AND NOT EXISTS (SELECT 1 FROM info WHERE (key = 'only' AND value = '1') OR key = 'cut.processes')
HAVING count(*) > 0

-- section: @Machine
WITH machine AS (SELECT count(*) = 0 AS is_whole FROM info
    WHERE key = 'cut.processes' OR (key = 'only' AND value = '1'))
SELECT (SELECT count(*) FROM cpus) AS cpus,
       CASE WHEN is_whole AND was_recorded('sched.switch') THEN
	    (SELECT round(100.0 * coalesce(sum(oncpu_ns) FILTER (WHERE utid <> 1), 0) / max(span_ns) / max((SELECT count(*)
	        FROM cpus), 1), 3)
	       FROM cpu_usage(:from, :to)) END AS cpu_busy_pct,
       CASE WHEN is_whole THEN
	    (SELECT peak_bytes FROM alloc_usage(:from, :to, 0, 'none') WHERE source = 'rss') END AS rss_peak_bytes,
       CASE WHEN is_whole AND was_recorded('block') THEN io.read_bytes END AS read_bytes,
       CASE WHEN is_whole AND was_recorded('block') THEN io.written_bytes END AS written_bytes,
       lost_events('all', :from, :to) AS lost_events
  FROM machine, (SELECT coalesce(sum(bytes) FILTER (WHERE op = 'read'), 0) AS read_bytes,
	       coalesce(sum(bytes) FILTER (WHERE op = 'write'), 0) AS written_bytes
	  FROM io_usage(:from, :to, 0, 'none')) AS io

-- section: CPU by name (4: report cpu --by comm)
SELECT u.comm_then AS comm, count(DISTINCT u.upid) AS processes,
       CASE count(DISTINCT u.upid) WHEN 1 THEN p.pid END AS pid, sum(u.oncpu_ns) AS oncpu_ns,
       round(100.0 * sum(u.oncpu_ns) / u.span_ns, 3) AS util_pct,
       sum(u.switches) AS switches, sum(u.preempted) AS preempted
  FROM cpu_usage(:from, :to) AS u CROSS JOIN processes AS p ON p.upid = u.upid
 GROUP BY u.comm_then ORDER BY oncpu_ns DESC, comm

-- section: Waiting by name (2: report waits --by comm)
WITH k AS (SELECT name, kind, sum(wait_ns) AS ns FROM wait_kinds(:from, :to, 0, 'comm') GROUP BY name, kind),
kinds AS MATERIALIZED (
	SELECT name, kind, ns, 100 * ns / sum(ns) OVER (PARTITION BY name) AS pct,
	       row_number() OVER (PARTITION BY name ORDER BY ns DESC, kind) AS nth FROM k WHERE ns > 0),
waited AS MATERIALIZED (
	SELECT name, group_concat(printf('%s %d %%', kind, pct), ', ') AS kinds
	  FROM (SELECT * FROM kinds WHERE nth <= 2 AND pct > 0 ORDER BY name, nth) GROUP BY name)
SELECT comm, sum(cpu_wait_ns) AS cpu_wait_ns, max(cpu_wait_max_ns) AS cpu_wait_max_ns,
       sum(disk_wait_ns) AS disk_wait_ns, sum(uninterruptible_ns) AS uninterruptible_ns,
       max(waited_for) AS waited_for
  FROM (SELECT name AS comm, wait_ns AS cpu_wait_ns, wait_max_ns AS cpu_wait_max_ns,
	       NULL AS disk_wait_ns, NULL AS uninterruptible_ns, NULL AS waited_for
	  FROM sched_waits(:from, :to, 0, 'comm')
	UNION ALL
	SELECT name, NULL, NULL, CASE WHEN was_recorded('block') THEN disk_ns END, uninterruptible_ns, NULL
	  FROM thread_states(:from, :to, 0, 'comm')
	UNION ALL SELECT name, NULL, NULL, NULL, NULL, kinds FROM waited)
 GROUP BY comm HAVING coalesce(sum(cpu_wait_ns), 0) + coalesce(sum(disk_wait_ns), 0) + coalesce(sum(uninterruptible_ns),
     0) > 0
 ORDER BY max(coalesce(sum(cpu_wait_ns), 0), coalesce(sum(disk_wait_ns), 0), coalesce(sum(uninterruptible_ns), 0)) DESC,
     comm

-- section: Memory by name (3: report memory --by comm)
-- A join of the two by name would take time quadratic in the number of names.
SELECT name AS comm, sum(cnt) AS processes, CASE sum(cnt) WHEN 1 THEN max(pid) END AS pid,
       max(peak_bytes) AS rss_peak_bytes, max(peak_ns) AS rss_peak_at_ns, max(alloc_bytes) AS rss_grown_bytes
  FROM (SELECT u.name AS name, NULL AS cnt, NULL AS pid, u.peak_bytes AS peak_bytes, u.peak_ns AS peak_ns,
      u.alloc_bytes AS alloc_bytes
	  FROM alloc_usage(:from, :to, 0, 'comm') AS u WHERE u.source = 'rss'
	UNION ALL
	SELECT m.comm_then, 1, p.pid, NULL, NULL, NULL
	  FROM alloc_usage(:from, :to, 0, 'process,comm') AS m LEFT JOIN processes AS p ON p.upid = m.upid
	      WHERE m.source = 'rss')
 GROUP BY name HAVING max(peak_bytes) NOT NULL ORDER BY rss_peak_bytes DESC, rss_grown_bytes DESC, name

-- section: ?Killed by the OOM killer (3: report pressure)
SELECT p.pid AS pid, p.comm AS comm,
       (SELECT m.rss_bytes FROM memory_levels(k.ts_ns, k.ts_ns + 1, 0, 'process') AS m
           WHERE m.upid = p.upid) AS rss_bytes,
       CASE WHEN k.limit_pages THEN coalesce((SELECT c.name FROM names AS c
           WHERE c.type = 'cgroup' AND c.id = k.limit_cgroup_id), '[unknown]') WHEN k.limit_cgroup_id
               THEN '[machine]' END AS limit_of,
       k.limit_pages * page_bytes() AS limit_bytes, k.ts_ns AS at_ns
  FROM oom_kills AS k JOIN threads AS t ON t.utid = k.victim_utid JOIN processes AS p ON p.upid = t.upid
 WHERE k.ts_ns >= :from AND k.ts_ns < :to AND thread_in_scope(k.victim_utid) ORDER BY k.ts_ns

-- section: ?Stalled because memory was short (3: report pressure)
WITH stalled AS MATERIALIZED (
	SELECT utid, CASE kind WHEN 'group limit' THEN 'reclaim for the limit of a memory cgroup' WHEN 'compaction'
	    THEN 'compaction of memory'
	       ELSE 'direct reclaim' END AS kind, sum(began) AS stalls, sum(dur_ns) AS ns
	  FROM memory_stalls(:from, :to) WHERE kind <> 'kswapd' GROUP BY 1, 2)
SELECT t.comm AS comm, u.kind AS kind, sum(u.stalls) AS stalls, sum(u.ns) AS stall_ns
  FROM stalled AS u CROSS JOIN threads AS t ON t.utid = u.utid
 WHERE thread_in_scope(u.utid) AND t.comm NOT GLOB 'kcompactd*'
 GROUP BY t.comm, u.kind HAVING sum(u.ns) >= min(100000000, (:to - :from) / 100) ORDER BY stall_ns DESC, t.comm

-- section: Spikes (1: report spikes)
SELECT p.pid AS pid, CASE u.kind WHEN 'process' THEN comm_at(u.upid, (u.start_ns + u.end_ns) / 2)
       WHEN 'group' THEN u.name ELSE '[all]' END AS comm, u.source AS source, u.start_ns AS start_ns,
       u.dur_ns AS dur_ns, u.bytes AS bytes, u.bytes_per_s AS bytes_per_s
  FROM memory_spikes(:from, :to, :spike_window, :spike_min) AS u LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY u.bytes DESC

-- section: Block I/O by name (3: report io --by comm)
-- Discards come last, on a screenful the largest in the third row: they read and write nothing, however many bytes they
-- are of.
SELECT comm, device_name(dev) AS device, op, ios, bytes, lat_p50_ns, lat_p99_ns, lat_max_ns
  FROM (SELECT u.*, u.name AS comm, row_number() OVER (PARTITION BY u.op = 'discard'
		ORDER BY u.bytes DESC, u.ios DESC, u.lat_max_ns DESC, u.name) AS nth
	  FROM io_usage(:from, :to, 0, 'comm') AS u)
 ORDER BY op = 'discard' AND NOT (:brief AND nth = 1), nth + 1.5 * (op = 'discard')

-- section: ?Rules judged (6: info)
-- A note of such a name that is not a JSON object is a user's own.
SELECT verdict, judged_utc, figure, "limit", rule, "window", started_utc, traces, why
  FROM (SELECT json_extract(v, '$.verdict') AS verdict,
      replace(substr(json_extract(v, '$.judged'), 1, 16), 'T', ' ') AS judged_utc,
	       json_extract(v, '$.figure') AS figure, json_extract(v, '$.limit') AS "limit", json_extract(v, '$.rule') AS rule,
	       json_extract(v, '$.window') AS "window", replace(rtrim(json_extract(v, '$.started'), 'Z'), 'T',
	           ' ') AS started_utc,
	       json_extract(v, '$.traces') AS traces, json_extract(v, '$.why') AS why, key
	  FROM (SELECT key, CASE WHEN json_valid(value) THEN value END AS v FROM info WHERE key GLOB 'note.assert.*'))
 WHERE verdict IS NOT NULL ORDER BY verdict = 'PASS', key

-- section: +Events
SELECT class, sum(attempted_cnt) AS attempted, sum(read_cnt) AS read,
       lost_events(class, :from, :to) AS lost_events, is_complete(class || '?', :from, :to) AS complete
  FROM hook_stats WHERE from_ns < to_ns AND to_ns > :from AND to_ns <= :to
 GROUP BY class ORDER BY class

-- section: +Recording
SELECT item, value FROM (
SELECT 1 AS n, 'command' AS item, (SELECT value FROM info WHERE key = 'command') AS value
UNION ALL SELECT 2, 'started', wall_time(0)
UNION ALL SELECT 3, 'window', printf('%.6f s .. %.6f s', :from / 1e9, :to / 1e9)
UNION ALL SELECT 4, 'length', printf('%.6f s', (SELECT span_ns / 1e9 FROM window_loss(:from, :to) LIMIT 1))
UNION ALL SELECT 5, 'complete', CASE WHEN view_complete(:from, :to) THEN 'yes' WHEN view_lost(:from, :to) = 0 THEN 'no'
       ELSE printf('no: %d events lost', view_lost(:from, :to)) END
UNION ALL SELECT 6, 'sources', (SELECT value FROM info WHERE key = 'sources')
UNION ALL SELECT 7, 'host', (SELECT value FROM info WHERE key = 'host')
UNION ALL SELECT 8, 'kernel', (SELECT value FROM info WHERE key = 'kernel.release')
UNION ALL SELECT 9, 'cpus', (SELECT coalesce(nullif(count(*), 0), (SELECT value FROM info WHERE key = 'cpu.online'),
    0) || ' ' ||
	    coalesce((SELECT value FROM info WHERE key = 'cpu.model'), '') FROM cpus)
UNION ALL SELECT 10, 'stolen', (SELECT printf('%.6f s of the time of threads on CPUs, by a hypervisor',
    sum(steal_ns) / 1e9)
       FROM cpu_usage(:from, :to) HAVING sum(steal_ns) > 0)
UNION ALL SELECT 11, 'state', CASE WHEN trace_finished() THEN NULL
       WHEN EXISTS (SELECT 1 FROM info WHERE key = 'manifest.lost') THEN 'not known, since the manifest is lost'
       ELSE 'still recording, or cut off' END
UNION ALL SELECT 12, 'damage', (SELECT printf('%d parts skipped, %d bytes', count(*), sum(bytes)) FROM damages
    HAVING count(*) > 0)
UNION ALL SELECT 13, 'only', (SELECT 'just the workload was recorded' FROM info WHERE key = 'only' AND value = '1'))
 WHERE value IS NOT NULL ORDER BY n

-- section: +Recording cost
WITH span AS (SELECT max(span_ns, 1) AS ns FROM window_loss(:from, :to) LIMIT 1),
told AS (SELECT count(*) = 0 AS yes FROM info WHERE key = 'lacks'
    AND value LIKE '%run times of programs need CAP_SYS_ADMIN%'),
h AS (SELECT CASE WHEN (SELECT yes FROM told) THEN coalesce(sum(window_share(cost_ns, from_ns, to_ns, :from, :to)),
    0) END AS kernel_ns,
	     sum(window_share(read_cnt, from_ns, to_ns, :from, :to)) AS events
	FROM hook_stats WHERE from_ns < :to AND to_ns > :from),
c AS (SELECT sum(window_share(user_ns + sys_ns, from_ns, to_ns, :from, :to)) AS recorder_ns,
	     sum(window_share(bytes_written, from_ns, to_ns, :from, :to)) AS bytes_written,
	     max(rss_bytes) AS rss_bytes, max(ring_used_max_bytes) AS ring_used_max_bytes,
	     coalesce(max(cpu_cnt), (SELECT count(*) FROM cpus)) AS cpus
	FROM cost WHERE from_ns < :to AND to_ns > :from)
SELECT recorder_ns, kernel_ns, round(100.0 * (recorder_ns + kernel_ns) / span.ns / cpus, 3) AS machine_pct,
       bytes_written, round(1.0 * bytes_written / nullif(events, 0), 2) AS bytes_per_event, rss_bytes,
           ring_used_max_bytes
  FROM c, h, span WHERE recorder_ns IS NOT NULL
