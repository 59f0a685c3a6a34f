-- variant of requests slowest: Which requests of programs took longest?
-- note: Each row is a request; BREAKDOWN has the largest parts of its time, and `request_time()` has all parts.
--
-- With --slowest N the result has one row per request, the longest first. Columns:
--   name, id, pid, thread, start_ns, dur_ns   the id is the one that the program assigned; for a call of a function,
--                                             its start
--   breakdown   the three largest parts of its time: running, a kind of wait and its object or call, or queued: no
--           thread worked for it
WITH r AS MATERIALIZED (SELECT * FROM requests(:from, :to)
                         WHERE name GLOB :requests AND end_ns NOTNULL AND thread_in_scope(utid, start_ns)
                         ORDER BY dur_ns DESC, start_ns LIMIT :slowest),
x AS (SELECT x.id AS id, x.start_ns AS start_ns, x.name AS name, x.kind AS kind, coalesce(x.object, x.call) AS what,
             sum(x.dur_ns) AS ns, row_number() OVER (PARTITION BY x.id, x.start_ns, x.name
                                                     ORDER BY sum(x.dur_ns) DESC, x.kind) AS n
        FROM request_time(:from, :to) AS x JOIN r ON r.id = x.id AND r.start_ns = x.start_ns AND r.name = x.name
       GROUP BY x.id, x.start_ns, x.name, x.kind, coalesce(x.object, x.call))
SELECT r.name AS name, r.id AS id, p.pid AS pid, t.comm AS thread, r.start_ns AS start_ns, r.dur_ns AS dur_ns,
       (SELECT group_concat(x.kind || iif(x.what IS NULL, '', ' ' || x.what) || ' ' || duration_text(x.ns), ', ')
          FROM (SELECT * FROM x WHERE x.id = r.id AND x.start_ns = r.start_ns AND x.name = r.name AND x.n <= 3
                 ORDER BY x.n) AS x) AS breakdown,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM r JOIN threads AS t ON t.utid = r.utid JOIN processes AS p ON p.upid = r.upid
 ORDER BY r.dur_ns DESC, r.start_ns
