-- view of latency 1: How large are requests, and do they follow each other?
-- note: A request is sequential if it is adjacent on the device to one of the 16 requests of its row that ended
--   before it.
-- by: who device partition op
-- default: device
-- needs: block
-- reach: before state
-- index: requests
-- threads: The figures are those of threads (--tid, --thread), without requests that others submitted for their
--   process, such as write-back.
-- takes: every who threads sort
-- drops: size_p90_bytes size_p99_bytes size_avg_bytes
--
-- The result has one row per device and operation; with --by also per owning process, thread, comm or
-- cgroup (see report io). It covers requests that ended inside the window. Columns:
--   seq_pct   share of the requests with data that are adjacent, in sectors, to one of the 16 requests
--             of the same row that ended before (many are in flight at once and complete out of
--             order): 100 is sequential, 0 is random
--   size_*    bytes of a request. Percentiles are nearest-rank: exact up to 65536 requests per row,
--             otherwise within 0.4 %
SELECT $t
       $keys
       u.ios AS ios, u.bytes AS bytes,
       round(100.0 * u.seq_ios / nullif(u.sized_ios, 0), 1) AS seq_pct,
       u.bytes / nullif(u.sized_ios, 0) AS size_avg_bytes, u.size_p50_bytes AS size_p50_bytes,
       u.size_p90_bytes AS size_p90_bytes, u.size_p99_bytes AS size_p99_bytes, u.size_max_bytes AS size_max_bytes,
       view_unowned_ios(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_ios,
       view_unowned_bytes(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_bytes,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM io_pattern(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.bytes DESC
