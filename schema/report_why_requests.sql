-- variant of why requests: What did the slow requests do that the others did not?
-- note: Slow are the requests from the 99th percentile of their length on, or as --slow says. SLOW and
--   OTHERS are means per request; the difference is DIFF plus and minus ERROR, in 95 of 100 cases.
--
-- With --requests the result has three sections about the requests of this name that ended in the window:
--   In short      how the slow ones differ from the others, the largest difference first: up to three sentences
--   What differs  a row per kind of activity: running, a kind of wait, queued (no thread worked for it), unknown. The
--                 rows of slow_ns add up to the mean length of the slow requests, and so do those of others_ns
--   Slowest       the three slowest requests, and the largest parts of their time

-- section: In short
SELECT answer FROM slow_requests(:from, :to, :requests, :slow_pct, :slow_ns) WHERE answer NOTNULL

-- section: What differs
SELECT kind, object, slow_ns, others_ns, diff_ns, error_ns
  FROM slow_requests(:from, :to, :requests, :slow_pct, :slow_ns)

-- section: Slowest
WITH r AS MATERIALIZED (SELECT * FROM requests(:from, :to)
                         WHERE name GLOB :requests AND end_ns NOTNULL AND thread_in_scope(utid, start_ns)
                         ORDER BY dur_ns DESC, start_ns LIMIT 3),
x AS (SELECT x.id AS id, x.start_ns AS start_ns, x.name AS name, x.kind AS kind, coalesce(x.object, x.call) AS what,
             sum(x.dur_ns) AS ns, row_number() OVER (PARTITION BY x.id, x.start_ns, x.name
                                                     ORDER BY sum(x.dur_ns) DESC, x.kind) AS n
        FROM request_time(:from, :to) AS x JOIN r ON r.id = x.id AND r.start_ns = x.start_ns AND r.name = x.name
       GROUP BY x.id, x.start_ns, x.name, x.kind, coalesce(x.object, x.call))
SELECT r.name AS name, r.id AS id, t.comm AS thread, r.start_ns AS start_ns, r.dur_ns AS dur_ns,
       (SELECT group_concat(x.kind || iif(x.what IS NULL, '', ' ' || x.what) || ' ' || duration_text(x.ns), ', ')
          FROM (SELECT * FROM x WHERE x.id = r.id AND x.start_ns = r.start_ns AND x.name = r.name AND x.n <= 3
                 ORDER BY x.n) AS x) AS breakdown
  FROM r JOIN threads AS t ON t.utid = r.utid
 ORDER BY r.dur_ns DESC, r.start_ns
