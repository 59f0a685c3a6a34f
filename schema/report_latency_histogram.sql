-- variant of latency histogram: Where did block requests spend their time?
-- note: Each row counts the requests with a time from LOW (included) to HIGH (excluded): all of their time (total),
--   the time until their first issue to the device (queue), or that from their last issue to their completion
--   (device).
--
-- The result is a histogram of latencies in powers of two: a step includes low_ns and excludes
-- high_ns. It has one row per device (with --by also per process, thread, comm or cgroup), operation,
-- phase and step, from the first to the last that has requests. Columns:
--   phase   total (queueing to last completion), queue (queueing to first issue), device (last issue
--           to last completion)
--   ios     requests; pct: share of the step; upto_pct: share of the requests below high_ns
SELECT $t
       $keys
       u.phase AS phase,
       u.low_ns AS low_ns, u.high_ns AS high_ns, u.ios AS ios,
       round(100.0 * u.ios / sum(u.ios) OVER each, 2) AS pct,
       round(100.0 * sum(u.ios) OVER (each ORDER BY u.low_ns) / sum(u.ios) OVER each, 2) AS upto_pct,
       view_unowned_ios(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_ios,
       view_unowned_bytes(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_bytes,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM latency_hist(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
WINDOW each AS (PARTITION BY u.t_ns, u.member_upid, u.utid, u.dev, u.op, u.size_from_bytes, u.submitter, u.owner_how,
    u.phase)
 ORDER BY u.t_ns, device_name(u.dev), u.op, u.size_from_bytes, u.upid, u.utid, u.name, u.member_upid, u.phase DESC,
     u.low_ns
