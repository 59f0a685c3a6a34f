-- view Waiting 4: How long did the requests of programs take?
-- note: A request counts where it ends, with its whole length; OPEN are those that had not ended.
--   Percentiles are exact up to 65536 requests per row, otherwise within 0.4 %.
-- by: name step thread
-- default: name
-- needs: app.span sched.switch? sched.wakeup?
-- reach: before state
-- without app.span: Requests were not recorded: record with --spans, --span-fd or --request.
-- cut: Requests that had begun before the cut are missing.
-- takes: every who threads histogram sort requests slowest
-- figure: p99_ns
-- drops: lost_events p90_ns per_s
-- rows: few
--
-- Requests are recorded with record --spans, --span-fd or --request. The result has one row per name. Columns:
--   requests   that ended in the window; per_s: their number per second of the window
--   p50_ns, p90_ns, p99_ns, max_ns   their lengths. Percentiles are nearest-rank
--   errors     requests that ended with an error
--   open       requests that had begun and not ended at the end of the window; their lengths do not count
-- --by step has the steps of the same requests, --by thread the threads that worked for them.
-- --histogram, --slowest N and why --requests NAME show more.
SELECT r.*, view_complete($binfrom, $binto) AS complete, view_lost($binfrom, $binto) AS lost_events
  FROM (SELECT $t_spike
               u.name AS name, count(u.end_ns) AS requests,
               round(count(u.end_ns) * 1e9 / nullif(min(coalesce(nullif(:every, 0), :to - :from), :to - :from), 0), 3)
                   AS per_s,
               percentile(iif(u.end_ns NOTNULL, u.dur_ns, NULL), 50) AS p50_ns,
               percentile(iif(u.end_ns NOTNULL, u.dur_ns, NULL), 90) AS p90_ns,
               percentile(iif(u.end_ns NOTNULL, u.dur_ns, NULL), 99) AS p99_ns,
               max(iif(u.end_ns NOTNULL, u.dur_ns, NULL)) AS max_ns,
               sum(u.failed) AS errors, count(*) - count(u.end_ns) AS open
          FROM (SELECT name, dur_ns, failed, end_ns, coalesce(end_ns, :to - 1) AS start_ns
                  FROM requests(:from, :to) WHERE name GLOB :requests AND thread_in_scope(utid, start_ns)) AS u
         GROUP BY $tgroup u.name) AS r
 ORDER BY $tgroup requests DESC, name
