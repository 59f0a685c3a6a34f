-- Views for plotting tools and by-hand questions. They work on a trace and on an exported database alike.
-- unix_s is seconds since 1970 (UTC), from the clock reading nearest to the trace's start: good to the
-- microsecond unless the wall clock is set during the trace. ts_ns counts from the trace's start.

-- The offset that turns ts_ns into ns since 1970.
CREATE VIEW epoch AS
SELECT real_ns - ts_ns AS start_unix_ns FROM clocks ORDER BY abs(ts_ns) LIMIT 1;

-- Stays on CPUs with names.
CREATE VIEW slices_named AS
SELECT s.start_ns, (e.start_unix_ns + s.start_ns) / 1e9 AS unix_s, s.dur_ns, s.cpu, p.pid, t.tid,
       p.comm, t.comm AS thread, s.end_reason, s.end_state,
       CASE WHEN s.end_state IS NULL THEN NULL WHEN s.end_reason = 'preempted' OR s.end_state = 0 THEN 'preempted'
	    WHEN s.end_state & 0xb0 THEN 'dead' WHEN s.end_state & 0x0c THEN 'stopped'
	    WHEN s.end_state & 0x402 = 0x402 OR s.end_state & 0x9002 = 0 THEN 'sleeping' ELSE 'uninterruptible' END AS state,
       s.wait_ns, s.utid
  FROM sched_slices AS s CROSS JOIN epoch AS e
  LEFT JOIN threads AS t ON t.utid = s.utid LEFT JOIN processes AS p ON p.upid = t.upid;

-- Resident memory counters with names.
CREATE VIEW rss_named AS
SELECT r.ts_ns, (e.start_unix_ns + r.ts_ns) / 1e9 AS unix_s, p.pid, p.comm, r.member, r.bytes
  FROM rss_points AS r CROSS JOIN epoch AS e LEFT JOIN processes AS p ON p.upid = r.upid;

-- Block requests with names.
CREATE VIEW requests_named AS
SELECT b.end_ns, (e.start_unix_ns + b.end_ns) / 1e9 AS unix_s, d.name AS device, b.op, b.bytes, b.sector,
       b.latency_ns, b.queue_ns, b.device_ns, b.status, b.error, p.pid, p.comm, b.owner
  FROM block_requests AS b CROSS JOIN epoch AS e
  LEFT JOIN devices AS d ON d.dev = b.dev LEFT JOIN processes AS p ON p.upid = b.submitter_upid;

-- Sums with names. They read whole tables.

-- CPU time per process; [idle] is a row, too.
CREATE VIEW cpu_by_process AS
SELECT p.upid, p.pid, p.comm, sum(s.dur_ns) AS oncpu_ns, count(*) AS slices,
    sum(s.end_reason = 'preempted') AS preempted
  FROM sched_slices AS s JOIN threads AS t ON t.utid = s.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY p.upid ORDER BY oncpu_ns DESC;

-- CPU time per second and process: a slice is split where a second begins.
CREATE VIEW cpu_by_second AS
WITH RECURSIVE part (utid, from_ns, to_ns, end_ns) AS (
	SELECT utid, start_ns, min(end_ns, (start_ns / 1000000000 + 1) * 1000000000), end_ns FROM sched_slices
	UNION ALL
	SELECT utid, to_ns, min(end_ns, to_ns + 1000000000), end_ns FROM part WHERE to_ns < end_ns
)
SELECT s.from_ns / 1000000000 * 1000000000 AS t_ns, p.upid, p.pid, p.comm, sum(s.to_ns - s.from_ns) AS oncpu_ns
  FROM part AS s JOIN threads AS t ON t.utid = s.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY t_ns, p.upid ORDER BY t_ns, oncpu_ns DESC;

-- Waits for a CPU per process.
CREATE VIEW waits_by_process AS
SELECT p.upid, p.pid, p.comm, count(*) AS waits, sum(s.wait_ns) AS wait_ns, max(s.wait_ns) AS wait_max_ns
  FROM sched_slices AS s JOIN threads AS t ON t.utid = s.utid JOIN processes AS p ON p.upid = t.upid
 WHERE s.wait_ns IS NOT NULL GROUP BY p.upid ORDER BY wait_ns DESC;

-- What the threads of each process did until their last stay on a CPU (report states has all of it): the time between
-- two stays belongs to the state in which the thread left, but for the wait at its end.
CREATE VIEW states_by_process AS
WITH s AS (
	SELECT n.utid, n.dur_ns, n.state, lead(n.start_ns) OVER next - n.start_ns - n.dur_ns AS away_ns,
	       lead(n.wait_ns) OVER next AS wait_ns
	  FROM slices_named AS n WHERE n.utid >= 16 WINDOW next AS (PARTITION BY n.utid ORDER BY n.start_ns)
)
SELECT p.upid, p.pid, p.comm, sum(s.dur_ns) AS running_ns,
       coalesce(sum(s.wait_ns) FILTER (WHERE s.state <> 'preempted'), 0) AS runnable_ns,
       coalesce(sum(s.away_ns) FILTER (WHERE s.state = 'preempted'), 0) AS preempted_ns,
       coalesce(sum(s.away_ns - coalesce(s.wait_ns, 0)) FILTER (WHERE s.state = 'uninterruptible'),
           0) AS uninterruptible_ns,
       coalesce(sum(s.away_ns - coalesce(s.wait_ns, 0)) FILTER (WHERE s.state = 'sleeping'), 0) AS sleeping_ns,
       coalesce(sum(s.away_ns - coalesce(s.wait_ns, 0)) FILTER (WHERE s.state = 'stopped'), 0) AS stopped_ns
  FROM s JOIN threads AS t ON t.utid = s.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY p.upid ORDER BY running_ns DESC;

-- Allocations per process and source. Sources overlap; do not add them.
CREATE VIEW alloc_by_process AS
SELECT p.upid, p.pid, p.comm, a.source, count(*) AS allocs, sum(a.bytes) AS alloc_bytes,
       sum(iif(a.free_ns IS NULL, 0, a.bytes)) AS freed_bytes, sum(iif(a.free_ns IS NULL, a.bytes, 0)) AS held_bytes
  FROM allocations AS a JOIN processes AS p ON p.upid = a.upid
 GROUP BY p.upid, a.source ORDER BY alloc_bytes DESC;

-- The highest value of each resident memory counter that changed; max() also picks the row of peak_ns.
CREATE VIEW rss_by_process AS
SELECT p.upid, p.pid, p.comm, r.member, max(r.bytes) AS peak_bytes, r.ts_ns AS peak_ns
  FROM rss_points AS r JOIN processes AS p ON p.upid = r.upid
 GROUP BY p.upid, r.member ORDER BY peak_bytes DESC;

-- Completed block requests per owning process, device and operation.
CREATE VIEW io_by_process AS
SELECT p.upid, p.pid, p.comm, d.name AS device, b.op, count(*) AS ios, sum(b.bytes) AS bytes,
       avg(b.latency_ns) AS lat_avg_ns, max(b.latency_ns) AS lat_max_ns
  FROM block_requests AS b JOIN processes AS p ON p.upid = b.owner_upid LEFT JOIN devices AS d ON d.dev = b.dev
 WHERE b.end_ns IS NOT NULL GROUP BY p.upid, b.dev, b.op ORDER BY bytes DESC;

-- The same per second.
CREATE VIEW io_by_second AS
SELECT b.end_ns / 1000000000 * 1000000000 AS t_ns, p.upid, p.pid, p.comm, d.name AS device, b.op,
       count(*) AS ios, sum(b.bytes) AS bytes, max(b.latency_ns) AS lat_max_ns
  FROM block_requests AS b JOIN processes AS p ON p.upid = b.owner_upid LEFT JOIN devices AS d ON d.dev = b.dev
 WHERE b.end_ns IS NOT NULL GROUP BY t_ns, p.upid, b.dev, b.op ORDER BY t_ns, bytes DESC;
