-- How much of everything was there, in one row?
--
-- One row for the window, with --every per bin; with --phases one per interval between marks, each with phase (the mark
-- it begins with), t_ns and dur_ns before these columns:
--   oncpu_ns, util_pct   of all tasks but idle and the recorder; 100 is one CPU
--   switches, preempted  times a task left a CPU; of these, while it could have gone on
--   wait_max_ns          the longest wait for a CPU that ended in it
--   rss_alloc_bytes      growth of resident memory of all processes, without what shrank; slab, page likewise
--   slab_alloc_bytes, page_alloc_bytes
--   rss_peak_bytes       the largest peak of a process; rss_peak_comm: whose
--   ios, io_bytes        requests that ended in it, all devices: layers of stacked devices are in it twice
--   io_lat_max_ns        the slowest
--   complete             1: nothing that is in this row was lost, and all of the window is in the trace
--   lost_events          events that may have been lost in it
SELECT cpu.oncpu_ns AS oncpu_ns, cpu.util_pct AS util_pct, cpu.switches AS switches, cpu.preempted AS preempted,
       waits.wait_max_ns AS wait_max_ns,
       mem.rss_alloc_bytes AS rss_alloc_bytes, mem.slab_alloc_bytes AS slab_alloc_bytes,
       mem.page_alloc_bytes AS page_alloc_bytes, mem.rss_peak_bytes AS rss_peak_bytes,
       (SELECT p.comm FROM alloc_usage(:from, :to, 0, 'process') AS u JOIN processes AS p ON p.upid = u.upid
         WHERE u.source = 'rss' ORDER BY u.peak_bytes DESC, u.upid LIMIT 1) AS rss_peak_comm,
       io.ios AS ios, io.io_bytes AS io_bytes, io.io_lat_max_ns AS io_lat_max_ns,
       is_complete('sched', :from, :to) AND is_complete('alloc', :from, :to) AND is_complete('block', :from, :to) AS complete,
       lost_events('sched', :from, :to) + lost_events('alloc', :from, :to) + lost_events('block', :from, :to) AS lost_events
  FROM (SELECT coalesce(sum(oncpu_ns), 0) AS oncpu_ns,
               coalesce(round(100.0 * sum(oncpu_ns) / max(span_ns), 3), 0.0) AS util_pct,
               coalesce(sum(switches), 0) AS switches, coalesce(sum(preempted), 0) AS preempted
          FROM cpu_usage(:from, :to, 0)) AS cpu,
       (SELECT max(wait_max_ns) AS wait_max_ns FROM sched_waits(:from, :to, 0, 'none')) AS waits,
       (SELECT coalesce(sum(alloc_bytes) FILTER (WHERE source = 'rss'), 0) AS rss_alloc_bytes,
               coalesce(sum(alloc_bytes) FILTER (WHERE source = 'slab'), 0) AS slab_alloc_bytes,
               coalesce(sum(alloc_bytes) FILTER (WHERE source = 'page'), 0) AS page_alloc_bytes,
               coalesce(max(peak_bytes) FILTER (WHERE source = 'rss'), 0) AS rss_peak_bytes
          FROM alloc_usage(:from, :to, 0, 'process')) AS mem,
       (SELECT coalesce(sum(ios), 0) AS ios, coalesce(sum(bytes), 0) AS io_bytes, max(lat_max_ns) AS io_lat_max_ns
          FROM io_usage(:from, :to, 0, 'none')) AS io
