-- Who made which block requests, and how long did they take?
--
-- One row per process (or thread, comm, cgroup) that owns the requests, device and operation; --by device: per
-- device and operation. The owner of a read or of direct I/O is who submitted it; of pages written back, who dirtied
-- their inode last. Requests whose owner is not known are [unknown]'s, a row for each submitter and reason. Columns:
--   ios, bytes         requests that ended inside the window, and their bytes; as /proc/diskstats count them
--   iops, bytes_per_s  per second of the window, which is cut to the trace's span
--   lat_p50_ns ..      from queueing to last completion; nearest-rank percentiles, exact up to 65536 requests a row in a
--                      window of up to a million block events,
--                      within 0.4 % beyond. Requests in flight when the recording began have none
--   errors, requeues   requests that failed; times a request went back to the queue
--   merges             requests that were merged into another one; they are not among ios
--   unknown_owner_ios  of ios, those whose owner is not known
--   submitter          process that queued them, "kworker" for any kernel worker, "several" if not one
--   owner_how          how the owner is known (or why not), "several" if not in one way:
--                      dirtied, dirtied_shared (others dirtied the inode, too, in the 30 s before), dirtied_mixed (merged
--                      with pages of another inode), read, direct, submitted (no pages: flush, discard);
--                      unknown are metadata, journal, swap (written), unknown
-- Devices stack: a request to a loop or device-mapper device causes others below. Never add up layers.
SELECT $t
       $keys
       device_name(u.dev) AS device, u.op AS op, u.ios AS ios, u.bytes AS bytes,
       round(u.ios * 1e9 / u.span_ns, 3) AS iops,
       round(u.bytes * 1e9 / u.span_ns, 3) AS bytes_per_s,
       u.lat_p50_ns AS lat_p50_ns, u.lat_p99_ns AS lat_p99_ns, u.lat_max_ns AS lat_max_ns,
       u.errors AS errors, u.merges AS merges, u.requeues AS requeues,
       u.unknown_owner_ios AS unknown_owner_ios,
       u.submitter AS submitter, u.owner_how AS owner_how,
       is_complete('block', u.t_ns, u.t_end_ns) AS complete,
       lost_events('block', u.t_ns, u.t_end_ns) AS lost_events
  FROM io_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 ORDER BY u.t_ns, u.bytes DESC, u.ios DESC
