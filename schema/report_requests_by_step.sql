-- variant of requests by step: How long did the steps of requests take?
-- note: Each row is a step of the requests that ended in the window, or were open at its end. A step
--   lasts until the next one of its request. SHARE is its part of the time of these steps.
--
-- The result has one row per name of a request and step. The columns are those of report requests; share_pct: the
-- step's part of the time of all steps of requests with this name. With --every a step counts in the bin in which it
-- begins.
SELECT $tgroup name, step, steps, p50_ns, p90_ns, p99_ns, max_ns,
       round(100.0 * sum_ns / nullif(sum(sum_ns) OVER (PARTITION BY $tgroup name), 0), 2) AS share_pct,
       view_complete($binfrom, $binto) AS complete, view_lost($binfrom, $binto) AS lost_events
  FROM (SELECT $t_spike
               u.name AS name, u.step AS step, count(*) AS steps,
               percentile(u.dur_ns, 50) AS p50_ns, percentile(u.dur_ns, 90) AS p90_ns,
               percentile(u.dur_ns, 99) AS p99_ns, max(u.dur_ns) AS max_ns, sum(u.dur_ns) AS sum_ns
          FROM (SELECT name, step, dur_ns, max(start_ns, :from) AS start_ns FROM request_steps(:from, :to)
                 WHERE name GLOB :requests AND thread_in_scope(utid, start_ns)) AS u
         GROUP BY $tgroup u.name, u.step) AS r
 ORDER BY $tgroup name, share_pct DESC, step
