-- variant of requests histogram: How long did the requests of programs take?
-- note: Each row counts the requests with a length from LOW (included) to HIGH (excluded).
--
-- The result is a histogram of lengths in powers of two: a step includes low_ns and excludes high_ns. Columns:
--   requests   that ended in the window; pct: share of the step; upto_pct: share of the requests below high_ns
SELECT $tgroup name, low_ns, 2 * low_ns AS high_ns, requests,
       round(100.0 * requests / sum(requests) OVER each, 2) AS pct,
       round(100.0 * sum(requests) OVER (each ORDER BY low_ns) / sum(requests) OVER each, 2) AS upto_pct,
       view_complete($binfrom, $binto) AS complete, view_lost($binfrom, $binto) AS lost_events
  FROM (SELECT $t_spike
               u.name AS name, u.low_ns AS low_ns, count(*) AS requests
          FROM (SELECT name, size_class(dur_ns) AS low_ns, end_ns AS start_ns FROM requests(:from, :to)
                 WHERE name GLOB :requests AND end_ns NOTNULL AND thread_in_scope(utid, start_ns)) AS u
         GROUP BY $tgroup u.name, u.low_ns) AS r
WINDOW each AS (PARTITION BY $tgroup name)
 ORDER BY $tgroup name, low_ns
