-- view Start 3: How much CPU time, memory and I/O was there in all?
-- note: A request that passes several devices, such as a volume on a disk, counts once for each.
-- needs: sched.switch sched.wakeup alloc.rss alloc.slab alloc.page block sched? alloc?
-- reach: before state
-- index: kinds
-- threads: The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes,
--   which belong to processes.
-- takes: every who threads sort
-- drops: preempted slab_alloc_bytes page_alloc_bytes wait_max_ns rss_alloc_bytes switches io_lat_max_ns
--   ios rss_peak_bytes oncpu_ns
-- rows: sums few
--
-- The result has one row for the window; with --every one per bin; with --phases one per interval
-- between marks, which begins with phase (the mark that starts the interval), t_ns and dur_ns.
-- Columns:
--   oncpu_ns, util_pct   CPU time of all tasks except idle and the recorder; 100 is one CPU. It excludes time for
--                        which the running task is unknown because of lost switches ([unknown] in report cpu)
--   switches, preempted  switches away from a CPU; switches away while still runnable
--   wait_max_ns          longest wait for a CPU that ended in the window
--   rss_alloc_bytes      growth of resident memory of all processes, without subtracting what shrank
--   slab_alloc_bytes, page_alloc_bytes   bytes allocated
--   rss_peak_bytes       highest resident memory of all processes together, at one instant
--   largest_rss_bytes    highest resident memory of one process; largest_rss_comm: name of that process
--   ios, io_bytes        requests that ended in the window, on all devices: layers of stacked devices
--                        count once each
--   io_lat_max_ns        longest latency of these requests
--   complete             1: no event behind this row was lost, and the trace covers the window
--   lost_events          events that were lost in the window
SELECT cpu.oncpu_ns AS oncpu_ns, cpu.util_pct AS util_pct, cpu.switches AS switches, cpu.preempted AS preempted,
       waits.wait_max_ns AS wait_max_ns,
       mem.rss_alloc_bytes AS rss_alloc_bytes, mem.slab_alloc_bytes AS slab_alloc_bytes,
       mem.page_alloc_bytes AS page_alloc_bytes, mem.rss_peak_bytes AS rss_peak_bytes,
       iif(scope_of_threads(), NULL, coalesce(largest.peak_bytes, 0)) AS largest_rss_bytes,
       largest.comm AS largest_rss_comm,
       io.ios AS ios, io.io_bytes AS io_bytes, io.io_lat_max_ns AS io_lat_max_ns,
       view_complete(:from, :to) AS complete,
       view_lost(:from, :to) AS lost_events
  FROM (SELECT coalesce(sum(oncpu_ns) FILTER (WHERE utid <> 1), 0) AS oncpu_ns,
               coalesce(round(100.0 * sum(oncpu_ns) FILTER (WHERE utid <> 1) / max(span_ns), 3), 0.0) AS util_pct,
               coalesce(sum(switches), 0) AS switches, coalesce(sum(preempted), 0) AS preempted
          FROM cpu_usage(:from, :to, 0)) AS cpu,
       (SELECT max(wait_max_ns) AS wait_max_ns FROM sched_waits(:from, :to, 0, 'none')) AS waits,
       (SELECT iif(scope_of_threads(), NULL,
                   coalesce(sum(alloc_bytes) FILTER (WHERE source = 'rss'), 0)) AS rss_alloc_bytes,
               coalesce(sum(alloc_bytes) FILTER (WHERE source = 'slab'), 0) AS slab_alloc_bytes,
               coalesce(sum(alloc_bytes) FILTER (WHERE source = 'page'), 0) AS page_alloc_bytes,
               iif(scope_of_threads(), NULL,
                   coalesce(max(peak_bytes) FILTER (WHERE source = 'rss'), 0)) AS rss_peak_bytes
          FROM alloc_usage(:from, :to, 0, 'none')) AS mem,
       (SELECT coalesce(sum(ios), 0) AS ios, coalesce(sum(bytes), 0) AS io_bytes, max(lat_max_ns) AS io_lat_max_ns
          FROM io_usage(:from, :to, 0, 'none')) AS io
  LEFT JOIN (SELECT u.peak_bytes AS peak_bytes, p.comm AS comm
               FROM alloc_usage(:from, :to, 0, 'process') AS u JOIN processes AS p ON p.upid = u.upid
              WHERE u.source = 'rss' ORDER BY u.peak_bytes DESC, u.upid LIMIT 1) AS largest
