-- view Disk 2: Where did requests spend their time?
-- note: QUEUE is the time from queueing to the first issue to the device; DEVICE is the time from the last issue to
--   completion. Percentiles are exact up to 65536 requests per row, otherwise within 0.4 %.
-- by: who device partition op size
-- default: device
-- needs: block
-- reach: before state
-- index: requests
-- threads: The figures are those of threads (--tid, --thread), without requests that others submitted for their
--   process, such as write-back.
-- takes: every who threads histogram sort
-- drops: errors upto_pct queue_p999_ns device_p999_ns lat_p999_ns queue_p90_ns device_p90_ns lat_p90_ns
--   lat_p50_ns queue_max_ns device_max_ns lat_max_ns lat_p99_ns ios
-- rows: sums zeros
--
-- The result has one row per device and operation; with --by also per process, thread, comm or
-- cgroup. Columns:
--   lat_*     from queueing to the last completion
--   queue_*   from queueing to the first issue to the device
--   device_*  from the last issue to the last completion
-- Percentiles are nearest-rank: exact up to 65536 requests per row in a window of up to a million block
-- events, otherwise within 0.4 %.
--   errors, merges, requeues   as in report io
--   unowned_ios, unowned_bytes, complete   as in report io
-- --histogram shows a histogram instead.
SELECT $t
       $keys
       u.ios AS ios,
       u.lat_p50_ns AS lat_p50_ns, u.lat_p90_ns AS lat_p90_ns, u.lat_p99_ns AS lat_p99_ns,
       u.lat_p999_ns AS lat_p999_ns, u.lat_max_ns AS lat_max_ns,
       u.queue_p50_ns AS queue_p50_ns, u.queue_p90_ns AS queue_p90_ns, u.queue_p99_ns AS queue_p99_ns,
       u.queue_p999_ns AS queue_p999_ns, u.queue_max_ns AS queue_max_ns,
       u.device_p50_ns AS device_p50_ns, u.device_p90_ns AS device_p90_ns, u.device_p99_ns AS device_p99_ns,
       u.device_p999_ns AS device_p999_ns, u.device_max_ns AS device_max_ns,
       u.errors AS errors, u.merges AS merges, u.requeues AS requeues,
       view_unowned_ios(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_ios,
       view_unowned_bytes(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_bytes,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM io_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 WHERE u.ios > 0
 ORDER BY u.t_ns, u.size_from_bytes, u.lat_max_ns DESC
