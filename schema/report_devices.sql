-- view Disk 3: How busy was each block device?
-- note: The view counts the requests of all processes. A request is in flight from queueing to completion. A stacked
--   device, such as a volume on a disk, has the same requests once more, so do not add up devices.
-- default: device
-- needs: block
-- reach: before state
-- index: requests
-- takes: every sort
-- figure: iops
-- drops: untimed merges inflight_ns busy_ns errors others depth_max read_bytes write_bytes
-- rows: few zeros
--
-- The result has one row per device and counts the requests of all owners. Columns:
--   busy_pct     share of the window with at least one request in flight (io_ticks of
--                /sys/block/*/stat)
--   depth_avg    mean number of requests in flight (time_in_queue; iostat's aqu-sz); depth_max: the
--                maximum
--   iops, reads, writes, others, and their bytes   requests that ended in the window
--   lat_avg_ns   mean time of these requests from queueing to the last completion, without those that
--                were in flight when the recording began; empty if there are no others
--   merges, errors   bios and requests that were merged into a request; requests that failed
--   error        names of their errnos, such as EIO
--   open         requests still in flight at the end
--   untimed      requests that ended without a latency: they were in flight when the recording began, and busy_pct
--                and depth_avg exclude their time before their first event; empty: none
-- A request is in flight from queueing to its last completion. Devices stack (dm, md, loop), so do not add
-- layers.
SELECT $t
       device_name(u.dev) AS device,
       round(100.0 * u.busy_ns / u.span_ns, 3) AS busy_pct,
       round(1.0 * u.inflight_ns / u.span_ns, 3) AS depth_avg, u.depth_max AS depth_max,
       round((u.read_ios + u.write_ios + u.other_ios) * 1e9 / u.span_ns, 3) AS iops,
       round((u.read_bytes + u.write_bytes) * 1e9 / u.span_ns, 3) AS bytes_per_s,
       u.read_ios AS reads, u.read_bytes AS read_bytes, u.write_ios AS writes, u.write_bytes AS write_bytes,
       u.other_ios AS others,
       u.lat_sum_ns / nullif(u.timed_ios, 0) AS lat_avg_ns,
       u.merges AS merges, u.errors AS errors,
       iif(u.errors, (SELECT group_concat(error, ' ')
                        FROM (SELECT DISTINCT r.error AS error FROM block_requests AS r
                               WHERE r.end_ns >= u.t_ns AND r.end_ns < u.t_end_ns AND r.dev = u.dev AND
                                     r.error NOT NULL ORDER BY r.error)), NULL) AS error,
       u.open_ios AS open,
       nullif(u.read_ios + u.write_ios + u.other_ios - u.timed_ios, 0) AS untimed,
       u.busy_ns AS busy_ns, u.inflight_ns AS inflight_ns,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM device_usage(:from, :to, :every) AS u
 ORDER BY u.t_ns, u.busy_ns DESC, u.dev
