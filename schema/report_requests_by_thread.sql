-- variant of requests by thread: How long did threads work for requests?
-- note: Each row is a thread that worked for requests that ended in the window, or were open at its end.
--   SHARE is its part of the time in which threads worked for them.
--
-- The result has one row per name of a request and thread. Lengths are those of the thread's work for one request;
-- share_pct: its part of the work of all threads for requests with this name. With --every, the work for a request
-- counts in the bin in which it begins.
SELECT $tgroup r.name AS name, p.pid AS pid, t.tid AS tid, t.comm AS thread, requests, p50_ns, p90_ns, p99_ns, max_ns,
       round(100.0 * sum_ns / nullif(sum(sum_ns) OVER (PARTITION BY $tgroup r.name), 0), 2) AS share_pct,
       view_complete($binfrom, $binto) AS complete, view_lost($binfrom, $binto) AS lost_events
  FROM (SELECT $t_spike
               u.name AS name, u.utid AS utid, count(*) AS requests,
               percentile(u.dur_ns, 50) AS p50_ns, percentile(u.dur_ns, 90) AS p90_ns,
               percentile(u.dur_ns, 99) AS p99_ns, max(u.dur_ns) AS max_ns, sum(u.dur_ns) AS sum_ns
          FROM (SELECT name, utid, sum(dur_ns) AS dur_ns, max(min(start_ns), :from) AS start_ns
                  FROM request_threads(:from, :to) WHERE name GLOB :requests AND thread_in_scope(utid, start_ns)
                 GROUP BY name, id, request_ns, utid) AS u
         GROUP BY $tgroup u.name, u.utid) AS r JOIN threads AS t ON t.utid = r.utid
  JOIN processes AS p ON p.upid = t.upid
 ORDER BY $tgroup r.name, share_pct DESC, r.utid
