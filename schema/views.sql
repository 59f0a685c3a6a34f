-- Views for plotting tools and by-hand questions. They work on a trace and on an exported database alike.
-- unix_s is seconds since 1970 (UTC), from the clock reading nearest to the trace's start: good to the
-- microsecond as long as the wall clock is not set meanwhile. ts_ns counts from the trace's start.

-- The offset that turns ts_ns into ns since 1970.
CREATE VIEW epoch AS
SELECT real_ns - ts_ns AS start_unix_ns FROM clocks ORDER BY abs(ts_ns) LIMIT 1;

-- Stays on CPUs with names.
CREATE VIEW slices_named AS
SELECT s.start_ns, (e.start_unix_ns + s.start_ns) / 1e9 AS unix_s, s.dur_ns, s.cpu, p.pid, t.tid,
       p.comm, t.comm AS thread, s.end_reason, s.wait_ns
  FROM sched_slices AS s CROSS JOIN epoch AS e
  LEFT JOIN threads AS t ON t.utid = s.utid LEFT JOIN processes AS p ON p.upid = t.upid;

-- Resident memory counters with names.
CREATE VIEW rss_named AS
SELECT r.ts_ns, (e.start_unix_ns + r.ts_ns) / 1e9 AS unix_s, p.pid, p.comm, r.member, r.bytes
  FROM rss_points AS r CROSS JOIN epoch AS e LEFT JOIN processes AS p ON p.upid = r.upid;

-- Block requests with names.
CREATE VIEW requests_named AS
SELECT b.end_ns, (e.start_unix_ns + b.end_ns) / 1e9 AS unix_s, d.name AS device, b.op, b.bytes, b.sector,
       b.latency_ns, b.queue_ns, b.device_ns, b.status, p.pid, p.comm, b.owner
  FROM block_requests AS b CROSS JOIN epoch AS e
  LEFT JOIN devices AS d ON d.dev = b.dev LEFT JOIN processes AS p ON p.upid = b.submitter_upid;
