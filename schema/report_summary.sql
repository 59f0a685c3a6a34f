-- What happened, and who used the most?
--
-- The result has several sections. Each section is the beginning of another view, with the
-- definitions of that view.

-- section: Recording
SELECT item, value FROM (
SELECT 1 AS n, 'command' AS item, (SELECT value FROM info WHERE key = 'command') AS value
UNION ALL SELECT 2, 'started', wall_time(0)
UNION ALL SELECT 3, 'window', printf('%.6f s .. %.6f s', :from / 1e9, :to / 1e9)
UNION ALL SELECT 4, 'length', printf('%.6f s', (SELECT span_ns / 1e9 FROM window_loss(:from, :to) LIMIT 1))
UNION ALL SELECT 5, 'complete', CASE
       WHEN is_complete('all', :from, :to) AND is_covered(0, :to) THEN coalesce('as far as recorded; not recorded: ' ||
	    (SELECT group_concat(column1, ', ') FROM (VALUES ('sched.switch'), ('alloc.rss'), ('block')) WHERE NOT was_recorded(column1)), 'yes')
       WHEN lost_events('all', :from, :to) > 0 THEN printf('no: %d events lost%s', lost_events('all', :from, :to),
	    coalesce((SELECT '; off for a time: ' || group_concat(DISTINCT source) FROM source_gaps
		       WHERE from_ns < :to AND to_ns > :from), ''))
       WHEN source_off_ns('all', :from, :to) > 0 THEN 'no: off for a time: ' ||
	    (SELECT group_concat(DISTINCT source) FROM source_gaps WHERE from_ns < :to AND to_ns > :from)
       ELSE 'no: the window goes beyond the trace, or part of the trace is damaged' END
UNION ALL SELECT 6, 'sources', (SELECT value FROM info WHERE key = 'sources')
UNION ALL SELECT 7, 'host', (SELECT value FROM info WHERE key = 'host')
UNION ALL SELECT 8, 'kernel', (SELECT value FROM info WHERE key = 'kernel.release')
UNION ALL SELECT 9, 'cpus', (SELECT coalesce(nullif(count(*), 0), (SELECT value FROM info WHERE key = 'cpu.online'), 0) || ' ' ||
	    coalesce((SELECT value FROM info WHERE key = 'cpu.model'), '') FROM cpus)
UNION ALL SELECT 10, 'state', CASE WHEN NOT trace_finished() THEN 'still recording, or cut off' END
UNION ALL SELECT 11, 'damage', (SELECT printf('%d parts skipped, %d bytes', count(*), sum(bytes)) FROM damages HAVING count(*) > 0)
UNION ALL SELECT 12, 'only', (SELECT 'just the workload was recorded' FROM info WHERE key = 'only' AND value = '1'))
 WHERE value IS NOT NULL ORDER BY n

-- section: Events
SELECT class, sum(attempted_cnt) AS attempted, sum(read_cnt) AS read,
       lost_events(class, :from, :to) AS lost_events, lost_events(class, :from, :to) = 0
       AND source_off_ns(class, :from, :to) = 0 AND is_covered(:from, :to) AS complete
  FROM hook_stats WHERE from_ns < :to AND to_ns > :from
 GROUP BY class ORDER BY class

-- section: CPU by process
SELECT p.pid AS pid, p.comm AS comm, sum(u.oncpu_ns) AS oncpu_ns,
       round(100.0 * sum(u.oncpu_ns) / u.span_ns, 3) AS util_pct,
       sum(u.switches) AS switches, sum(u.preempted) AS preempted
  FROM cpu_usage(:from, :to) AS u CROSS JOIN processes AS p ON p.upid = u.upid
 GROUP BY u.upid ORDER BY oncpu_ns DESC LIMIT :top

-- section: Memory by process
SELECT p.pid AS pid, u.name AS comm, u.peak_bytes AS rss_peak_bytes, u.peak_ns AS rss_peak_at_ns,
       u.alloc_bytes AS rss_grown_bytes, u.net_bytes AS rss_net_bytes
  FROM alloc_usage(:from, :to, 0, 'process') AS u LEFT JOIN processes AS p ON p.upid = u.upid
 WHERE u.source = 'rss' ORDER BY u.peak_bytes DESC LIMIT :top

-- section: Spikes
SELECT p.pid AS pid, p.comm AS comm, u.source AS source, u.start_ns AS start_ns, u.dur_ns AS dur_ns,
       u.bytes AS bytes, u.bytes_per_s AS bytes_per_s
  FROM spikes(:from, :to, :spike_window, :spike_min) AS u LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY u.bytes DESC LIMIT :top

-- section: Block I/O by process
SELECT p.pid AS pid, u.name AS comm, device_name(u.dev) AS device, u.op AS op, u.ios AS ios, u.bytes AS bytes,
       u.lat_p50_ns AS lat_p50_ns, u.lat_p99_ns AS lat_p99_ns, u.lat_max_ns AS lat_max_ns
  FROM io_usage(:from, :to, 0, 'process') AS u LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY u.bytes DESC, u.ios DESC LIMIT :top

-- section: Recording cost
WITH span AS (SELECT max(span_ns, 1) AS ns FROM window_loss(:from, :to) LIMIT 1),
h AS (SELECT coalesce(sum(window_share(cost_ns, from_ns, to_ns, :from, :to)), 0) AS kernel_ns,
	     sum(window_share(read_cnt, from_ns, to_ns, :from, :to)) AS events
	FROM hook_stats WHERE from_ns < :to AND to_ns > :from),
c AS (SELECT sum(window_share(user_ns + sys_ns, from_ns, to_ns, :from, :to)) AS recorder_ns,
	     sum(window_share(bytes_written, from_ns, to_ns, :from, :to)) AS bytes_written,
	     max(rss_bytes) AS rss_bytes, max(ring_used_max_bytes) AS ring_used_max_bytes,
	     coalesce(max(cpu_cnt), (SELECT count(*) FROM cpus)) AS cpus
	FROM cost WHERE from_ns < :to AND to_ns > :from)
SELECT recorder_ns, kernel_ns, round(100.0 * (recorder_ns + kernel_ns) / span.ns / cpus, 3) AS machine_pct,
       bytes_written, round(1.0 * bytes_written / nullif(events, 0), 2) AS bytes_per_event, rss_bytes, ring_used_max_bytes
  FROM c, h, span WHERE recorder_ns IS NOT NULL
