-- view 0: What does the page of a window show, besides the rows of analyze/page/page_data.c?
-- needs: sched.switch alloc.rss block sched? alloc?
-- reach: before
-- takes: every
--
-- Each section is a result of the page's data. loss has the bins in which a view, or all that was recorded, is not
-- complete. :peaks has the bins with the longest waits for a CPU and those with the slowest requests, the highest
-- first, as {"waits":[[from,to],...],"requests":[...]}. NULL: no peaks are wanted; '{}': nor other slow data. few:
-- the window has so few events that each of them can be shown; the limit is lower if peaks are not wanted, since a
-- person waits for the answer.

-- section: info
SELECT key, value FROM info
 WHERE key IN ('command', 'host', 'kernel.release', 'cpu.model', 'cpu.online', 'sources', 'heap.sample_bytes')
UNION ALL SELECT 'started', wall_time(0)
UNION ALL SELECT 'recorded', group_concat(column1, ' ') FROM (VALUES ('sched.switch'), ('sched.wakeup'), ('alloc.rss'),
	('alloc.slab'), ('alloc.page'), ('alloc.heap'), ('block')) WHERE was_recorded(column1)

-- section: devices
SELECT dev, device_name(dev) AS name FROM devices

-- section: loss
SELECT u.t_ns AS t_ns, w.column1 AS what, lost_events(w.column1, u.t_ns, u.t_end_ns) AS lost_events
  FROM window_loss(:from, :to, :every) AS u CROSS JOIN (VALUES ('all'), ('report page'), ('report cpu'),
      ('report sched'),
       ('report states'), ('report alloc'), ('report io')) AS w
 WHERE u.class = 'sched' AND NOT is_complete(w.column1, u.t_ns, u.t_end_ns)

-- section: marks
SELECT ts_ns, name, nr FROM marks WHERE ts_ns >= :from AND ts_ns < :to ORDER BY ts_ns

-- section: slow_waits
WITH few AS MATERIALIZED (SELECT total(event_cnt * 1.0 * (min(to_ns, :to) - max(from_ns, :from)) / (to_ns - from_ns)) <=
    iif(:peaks IS NULL, 40000, 200000) AS yes
	FROM blocks WHERE from_ns < :to AND to_ns > :from),
b AS MATERIALIZED (SELECT :from AS t_ns, :to AS t_end_ns FROM few WHERE yes
	UNION ALL SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:peaks, '$.waits')
	    WHERE NOT (SELECT yes FROM few))
SELECT u.t_ns AS at_ns, t.tid AS tid, t.comm AS comm, t.upid AS upid, u.wait_max_ns AS wait_ns
  FROM b CROSS JOIN sched_waits(b.t_ns, b.t_end_ns, 1000000, 'thread') AS u LEFT JOIN threads AS t ON t.utid = u.utid
 WHERE u.wait_max_ns > 0 ORDER BY u.wait_max_ns DESC LIMIT 20

-- section: slow_requests
WITH few AS MATERIALIZED (SELECT total(event_cnt * 1.0 * (min(to_ns, :to) - max(from_ns, :from)) / (to_ns - from_ns)) <=
    iif(:peaks IS NULL, 40000, 200000) AS yes
	FROM blocks WHERE from_ns < :to AND to_ns > :from),
b AS MATERIALIZED (SELECT :from AS t_ns, :to AS t_end_ns FROM few WHERE yes
	UNION ALL SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:peaks, '$.requests')
	    WHERE NOT (SELECT yes FROM few))
SELECT u.t_ns AS at_ns, u.upid AS upid, u.dev AS dev, u.op AS op, u.submitter AS submitter,
       u.lat_max_ns AS lat_ns, u.queue_max_ns AS queue_ns, u.device_max_ns AS device_ns
  FROM b CROSS JOIN io_usage(b.t_ns, b.t_end_ns, 1000000, 'process') AS u
 WHERE u.lat_max_ns > 0 ORDER BY u.lat_max_ns DESC LIMIT 20

-- section: latencies
SELECT t_ns, low_ns, sum(ios) AS ios FROM latency_hist(:from, :to, :every, 'none') WHERE phase = 'total' AND ios > 0
   AND coalesce(:peaks, '') <> '{}' GROUP BY t_ns, low_ns

-- section: slices
WITH few AS MATERIALIZED (SELECT total(event_cnt * 1.0 * (min(to_ns, :to) - max(from_ns, :from)) / (to_ns - from_ns)) <=
    iif(:peaks IS NULL, 40000, 200000) AS yes
	FROM blocks WHERE from_ns < :to AND to_ns > :from),
b AS MATERIALIZED (SELECT from_ns, to_ns, event_cnt AS n FROM blocks
    WHERE from_ns < :to AND to_ns > :from AND NOT (SELECT yes FROM few)),
w AS MATERIALIZED (SELECT json_extract(value, '$[0]') AS t_ns, json_extract(value, '$[1]') AS t_end_ns
	FROM json_each(:peaks, '$.waits') WHERE NOT (SELECT yes FROM few)),
q AS MATERIALIZED (SELECT json_extract(value, '$[0]') AS t_ns, json_extract(value, '$[1]') AS t_end_ns
	FROM json_each(:peaks, '$.requests') WHERE key < 3 AND NOT (SELECT yes FROM few)),
m AS MATERIALIZED (
	SELECT 'whole' AS kind, :from AS from_ns, :to AS to_ns, 0 AS ns FROM few WHERE yes
	UNION ALL SELECT 'wait', u.t_ns - min(u.wait_max_ns, 30000000), u.t_ns + 2000000, max(u.wait_max_ns)
	  FROM w CROSS JOIN sched_waits(w.t_ns, w.t_end_ns, 1000000, 'none') AS u GROUP BY w.t_ns
	UNION ALL SELECT 'request', u.t_ns - min(u.lat_max_ns, 30000000), u.t_ns + 2000000, max(u.lat_max_ns)
	  FROM q CROSS JOIN io_usage(q.t_ns, q.t_end_ns, 1000000, 'none') AS u GROUP BY q.t_ns
	UNION ALL SELECT * FROM (SELECT 'events', from_ns, min(to_ns, from_ns + 30000000), n FROM b
	    WHERE json_extract(:peaks, '$.waits') NOT NULL ORDER BY n * 1.0 / (to_ns - from_ns) DESC LIMIT 3)
)
SELECT kind, from_ns, to_ns, ns, start_ns, dur_ns, cpu, tid, thread, upid, waited_ns, wait_reason FROM (
	SELECT m.kind AS kind, max(m.from_ns, :from) AS from_ns, m.to_ns AS to_ns, m.ns AS ns,
	    s.start_ns - max(m.from_ns, :from) AS start_ns,
	       s.dur_ns AS dur_ns, s.cpu AS cpu, t.tid AS tid, t.comm AS thread, t.upid AS upid, s.wait_ns AS waited_ns,
	           s.wait_reason AS wait_reason,
	       row_number() OVER (PARTITION BY m.kind, m.from_ns ORDER BY s.start_ns) AS nth
	  FROM m CROSS JOIN sched_slices(max(m.from_ns, :from), min(m.to_ns, :to)) AS s
	      LEFT JOIN threads AS t ON t.utid = s.utid
	 WHERE s.utid <> 0)
 WHERE nth <= CASE kind WHEN 'whole' THEN 30000 ELSE 3000 END

-- section: leaves
WITH few AS MATERIALIZED (SELECT total(event_cnt * 1.0 * (min(to_ns, :to) - max(from_ns, :from)) / (to_ns - from_ns)) <=
    iif(:peaks IS NULL, 40000, 200000) AS yes
	FROM blocks WHERE from_ns < :to AND to_ns > :from)
SELECT w.ts_ns AS at_ns, t.tid AS tid, w.preempted AS preempted, call_name(w.call) AS call,
    object_name(w.call, w.object) AS object
  FROM few CROSS JOIN switches AS w JOIN threads AS t ON t.utid = w.utid
 WHERE w.ts_ns >= :from AND w.ts_ns < :to AND w.utid <> 0
   AND few.yes
 LIMIT 30000

-- section: requests
WITH few AS MATERIALIZED (SELECT total(event_cnt * 1.0 * (min(to_ns, :to) - max(from_ns, :from)) / (to_ns - from_ns)) <=
    iif(:peaks IS NULL, 40000, 200000) AS yes
	FROM blocks WHERE from_ns < :to AND to_ns > :from)
SELECT queued_ns, issue_ns, end_ns, dev, op, bytes, file, owner_upid AS upid FROM few CROSS JOIN block_requests
 WHERE end_ns >= :from AND end_ns < :to + 1000000000 AND queued_ns < :to
   AND few.yes
 LIMIT 3000

-- section: spans
SELECT start_ns, end_ns, name, CAST(id AS TEXT) AS id, failed FROM requests(:from, :to)
 WHERE end_ns NOTNULL AND coalesce(:peaks, '') <> '{}' ORDER BY dur_ns DESC LIMIT 3000

-- section: wakes
WITH few AS MATERIALIZED (SELECT total(event_cnt * 1.0 * (min(to_ns, :to) - max(from_ns, :from)) / (to_ns - from_ns)) <=
    iif(:peaks IS NULL, 40000, 200000) AS yes
	FROM blocks WHERE from_ns < :to AND to_ns > :from)
SELECT w.ts_ns AS at_ns, a.tid AS waker, b.tid AS tid FROM few CROSS JOIN wakeups AS w
    JOIN threads AS a ON a.utid = w.utid JOIN threads AS b ON b.utid = w.target_utid
 WHERE w.ts_ns >= :from AND w.ts_ns < :to AND w.utid <> 0 AND NOT w.irq
   AND few.yes
 LIMIT 3000
