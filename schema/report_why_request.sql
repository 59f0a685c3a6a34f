-- variant of why request: What did this request do, and what held it up?
-- note: The request is compared with the others of its name in the window. The path goes back from its end to its
--   begin, along the waits of its threads.
--
-- With --request ID the result has sections about the request with this id:
--   In short     how it differs from the other requests of its name in the window, the largest difference first
--   Parts        what its time went to, as in request_time(): the rows of time_ns add up to its length, exactly.
--                ended_by is the thread that ended the waits, released the lock, or had the CPU during them
--   Timeline     the threads that worked for it, and its steps, in order of time
--   Path         the delays from its end back to its begin, as in report path: if another thread ended a sleep, the
--                path continues with that thread. The rows of path_ns add up to the length

-- section: In short
SELECT answer FROM slow_requests(:from, :to, (SELECT name FROM requests(:from, :to) WHERE id = :request), NULL, NULL,
                                 :request) WHERE answer NOTNULL

-- section: Parts
SELECT x.kind AS kind, coalesce(x.object, x.call) AS object,
       CASE WHEN t.tid THEN printf('%s (%d)', t.comm, t.tid) WHEN t.utid NOTNULL THEN t.comm
            WHEN x.timeout THEN '[timeout]' WHEN x.irq THEN '[interrupt]' END AS ended_by,
       x.waits AS waits, x.dur_ns AS time_ns, round(100.0 * x.dur_ns / nullif(sum(x.dur_ns) OVER (), 0), 3) AS share_pct
  FROM request_time(:from, :to) AS x LEFT JOIN threads AS t ON t.utid = x.by_utid
 WHERE x.id = :request
 ORDER BY x.dur_ns DESC, x.kind, object, x.by_utid

-- section: Timeline
SELECT x.start_ns AS start_ns, x.dur_ns AS dur_ns, t.tid AS tid, t.comm AS thread, x.step AS step
  FROM (SELECT start_ns, dur_ns, utid, NULL AS step FROM request_threads(:from, :to) WHERE id = :request
        UNION ALL
        SELECT start_ns, dur_ns, utid, step FROM request_steps(:from, :to) WHERE id = :request) AS x
  JOIN threads AS t ON t.utid = x.utid
 ORDER BY x.start_ns, x.step NOTNULL, x.dur_ns DESC

-- section: Path
SELECT p.pid AS pid, t.comm AS comm, c.kind AS kind, coalesce(c.object, c.call) AS object, count(*) AS parts,
       sum(c.end_ns - c.start_ns) AS path_ns, max(c.end_ns) AS last_ns,
       round(100.0 * sum(c.end_ns - c.start_ns) / nullif(r.dur_ns, 0), 3) AS share_pct
  FROM requests(:from, :to) AS r JOIN blocking_chain(r.start_ns, r.start_ns + r.dur_ns, coalesce(r.end_utid,
         (SELECT utid FROM request_threads(:from, :to) WHERE id = :request ORDER BY start_ns DESC LIMIT 1),
         r.utid)) AS c
  JOIN threads AS t ON t.utid = c.utid JOIN processes AS p ON p.upid = t.upid
 WHERE r.id = :request
 GROUP BY c.utid, c.kind, c.call, c.object
 ORDER BY last_ns DESC, c.utid, c.kind
