-- view Disk 1: Who made which requests, and how long did they take?
-- note: The process that last dirtied a file owns its write-back; the submitter owns other requests; requests without
--   a known owner count for [unknown]. Latency is the time from queueing to completion.
-- by: who device partition op size file
-- needs: block
-- reach: before state
-- index: requests
-- threads: The figures are those of threads (--tid, --thread), without requests that others submitted for their
--   process, such as write-back.
-- takes: every who threads sort
-- figure: bytes_per_s
-- drops: errors iops bytes_per_s lat_p50_ns lat_p99_ns
-- rows: sums zeros
--
-- The result has one row per owning process (or thread, comm, cgroup), device and operation; with
-- --by device, one per device and operation. The submitter owns a read or a direct I/O request. The
-- process that last dirtied the inode owns a write-back. Requests without a known owner count for
-- [unknown], with one row per submitter and reason. Columns:
--   ios, bytes         requests that ended inside the window, and their bytes, as in /proc/diskstats
--   iops, bytes_per_s  per second of the window, which is cut to the trace's span
--   lat_p50_ns ..      time from queueing to the last completion. Percentiles are nearest-rank: exact
--                      up to 65536 requests per row in a window of up to a million block events,
--                      otherwise within 0.4 %. Requests already in flight at the trace's start have no
--                      latency
--   errors, requeues   requests that failed; number of returns to the queue
--   merges             requests that were merged into another request; ios does not include them
--   unknown_owner_ios  the part of ios without a known owner
--   unowned_ios, unowned_bytes   upper bound of what the row lacks: requests of unknown owners in the same time,
--                      which may belong to the row. A report about selected processes is not complete then
--   submitter          process that queued the requests, "kworker" for any kernel worker, "several"
--                      if there is more than one
--   owner_how          how the owner was found, or why it is unknown; "several" if the requests differ in this:
--                      dirtied, dirtied_shared (other processes dirtied the inode too, in the 30 s
--                      before), dirtied_mixed (merged with pages of another inode), read, direct,
--                      submitted (no pages: flush, discard), volume (a kernel thread submitted them
--                      for a volume: the user of the volume), waiter (an I/O limit delayed them: the thread that
--                      waits for them). Without an owner: metadata, journal,
--                      swap (written), unknown
-- Devices stack: a request to a loop or device-mapper device causes further requests below it. Do not
-- add layers.
SELECT $t
       $keys
       u.ios AS ios, u.bytes AS bytes,
       round(u.ios * 1e9 / u.span_ns, 3) AS iops,
       round(u.bytes * 1e9 / u.span_ns, 3) AS bytes_per_s,
       u.lat_p50_ns AS lat_p50_ns, u.lat_p99_ns AS lat_p99_ns, u.lat_max_ns AS lat_max_ns,
       u.errors AS errors, u.merges AS merges, u.requeues AS requeues,
       u.unknown_owner_ios AS unknown_owner_ios,
       u.submitter AS submitter, u.owner_how AS owner_how,
       view_unowned_ios(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_ios,
       view_unowned_bytes(u.t_ns, u.t_end_ns, u.name <> '[unknown]') AS unowned_bytes,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM io_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.bytes DESC, u.ios DESC
