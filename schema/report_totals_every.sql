-- variant of totals every: How much CPU time, memory and I/O was there in all?
--
-- With --every the result has one row per bin in which something happened. The first column, t_ns, is
-- the start of the bin. The other columns are those of report_totals.sql.
WITH cpu AS (SELECT t_ns, t_end_ns, sum(oncpu_ns) FILTER (WHERE utid <> 1) AS oncpu_ns,
                    round(100.0 * sum(oncpu_ns) FILTER (WHERE utid <> 1) / max(span_ns), 3) AS util_pct,
                    sum(switches) AS switches, sum(preempted) AS preempted
               FROM cpu_usage(:from, :to, :every) GROUP BY t_ns),
     waits AS (SELECT t_ns, t_end_ns, max(wait_max_ns) AS wait_max_ns FROM sched_waits(:from, :to, :every, 'none')
                 GROUP BY t_ns),
     largest AS (SELECT t_ns, peak_bytes, comm
                   FROM (SELECT u.t_ns AS t_ns, u.peak_bytes AS peak_bytes, p.comm AS comm,
                                row_number() OVER (PARTITION BY u.t_ns ORDER BY u.peak_bytes DESC, u.upid) AS nth
                           FROM alloc_usage(:from, :to, :every, 'process') AS u JOIN processes AS p ON p.upid = u.upid
                          WHERE u.source = 'rss')
                  WHERE nth = 1),
     mem AS (SELECT t_ns, t_end_ns, coalesce(sum(alloc_bytes) FILTER (WHERE source = 'rss'), 0) AS rss_alloc_bytes,
                    coalesce(sum(alloc_bytes) FILTER (WHERE source = 'slab'), 0) AS slab_alloc_bytes,
                    coalesce(sum(alloc_bytes) FILTER (WHERE source = 'page'), 0) AS page_alloc_bytes,
                    coalesce(max(peak_bytes) FILTER (WHERE source = 'rss'), 0) AS rss_peak_bytes
               FROM alloc_usage(:from, :to, :every, 'none') GROUP BY t_ns),
     io AS (SELECT t_ns, t_end_ns, sum(ios) AS ios, sum(bytes) AS io_bytes, max(lat_max_ns) AS io_lat_max_ns
              FROM io_usage(:from, :to, :every, 'none') GROUP BY t_ns),
     bins AS (SELECT t_ns, t_end_ns FROM cpu UNION SELECT t_ns, t_end_ns FROM waits
              UNION SELECT t_ns, t_end_ns FROM mem UNION SELECT t_ns, t_end_ns FROM io)
SELECT u.t_ns AS t_ns, coalesce(cpu.oncpu_ns, 0) AS oncpu_ns, coalesce(cpu.util_pct, 0.0) AS util_pct,
       coalesce(cpu.switches, 0) AS switches, coalesce(cpu.preempted, 0) AS preempted, waits.wait_max_ns AS wait_max_ns,
       iif(scope_of_threads(), NULL, coalesce(mem.rss_alloc_bytes, 0)) AS rss_alloc_bytes,
       coalesce(mem.slab_alloc_bytes, 0) AS slab_alloc_bytes,
       coalesce(mem.page_alloc_bytes, 0) AS page_alloc_bytes,
       iif(scope_of_threads(), NULL, coalesce(mem.rss_peak_bytes, 0)) AS rss_peak_bytes,
       iif(scope_of_threads(), NULL, coalesce(largest.peak_bytes, 0)) AS largest_rss_bytes,
       largest.comm AS largest_rss_comm,
       coalesce(io.ios, 0) AS ios, coalesce(io.io_bytes, 0) AS io_bytes, io.io_lat_max_ns AS io_lat_max_ns,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM bins AS u LEFT JOIN cpu USING (t_ns) LEFT JOIN waits USING (t_ns) LEFT JOIN mem USING (t_ns)
       LEFT JOIN largest USING (t_ns) LEFT JOIN io USING (t_ns)
 ORDER BY u.t_ns
