-- view Export 1: What did each name do, in rows that hosts can add up?
-- note: In each bin a name has a row for its CPU time and memory, one for its requests by device and operation, and
--   one for each step of the histogram of their latencies. A row without a name is that of the machine. The
--   recorder's own activity counts, too.
-- by: comm unit container user
-- default: comm
-- needs: sched.switch alloc.rss block sched? alloc?
-- reach: before
-- index: kinds states
-- takes: every who sort
-- drops: bin_ns cpus lat_sum_ns unknown_ns heap_alloc_bytes page_alloc_bytes slab_alloc_bytes
--   spike_max_bytes spikes throttled_ns
--   rss_peak_bytes uninterruptible_ns rss_grown_bytes lat_max_ns preempted_ns disk_ns runnable_ns rss_bytes
-- rows: sums machine
--
-- `report bins --every DUR --follow` prints these rows; `export --to clickhouse --every DUR` sends those of aligned
-- bins (--align). There are three kinds of rows: CPU and memory of a name; its requests by device and operation, with
-- one more row per step of their latency, from lat_low_ns on; and one row without a name, that of the machine. Counts
-- and times can be added up over names, bins and hosts, and histograms are merged by adding lat_ios; of columns with
-- peak or max in their names, take the maximum. bin_ns is the part of the bin that was recorded. Memory of a name is
-- in the first bin, and in bins in which it changed. :continues is 1 if the previous query was for the bins before
-- these.
SELECT t_ns, max(span_ns) AS bin_ns, name, device, op, lat_low_ns,
       sum(running_ns) AS running_ns, sum(runnable_ns) AS runnable_ns, sum(preempted_ns) AS preempted_ns,
       sum(throttled_ns) AS throttled_ns, sum(disk_ns) AS disk_ns, sum(uninterruptible_ns) AS uninterruptible_ns,
       sum(unknown_ns) AS unknown_ns,
       max(rss_bytes) AS rss_bytes, max(rss_peak_bytes) AS rss_peak_bytes,
       sum(rss_grown_bytes) AS rss_grown_bytes, sum(slab_alloc_bytes) AS slab_alloc_bytes,
       sum(page_alloc_bytes) AS page_alloc_bytes, sum(heap_alloc_bytes) AS heap_alloc_bytes,
       sum(spikes) AS spikes, max(spike_max_bytes) AS spike_max_bytes,
       sum(ios) AS ios, sum(io_bytes) AS io_bytes, sum(lat_sum_ns) AS lat_sum_ns, max(lat_max_ns) AS lat_max_ns,
       sum(lat_ios) AS lat_ios, max(cpus) AS cpus, sum(lost_events) AS lost_events, min(complete) AS complete
  FROM (SELECT t_ns, span_ns, name, NULL AS device, NULL AS op, NULL AS lat_low_ns,
               running_ns, runnable_ns, preempted_ns, throttled_ns,
               iif(was_recorded('block'), disk_ns, NULL) AS disk_ns, uninterruptible_ns,
               unknown_ns, NULL AS rss_bytes, NULL AS rss_peak_bytes, NULL AS rss_grown_bytes, NULL AS slab_alloc_bytes,
               NULL AS page_alloc_bytes, NULL AS heap_alloc_bytes, NULL AS spikes, NULL AS spike_max_bytes,
               NULL AS ios, NULL AS io_bytes, NULL AS lat_sum_ns, NULL AS lat_max_ns, NULL AS lat_ios,
               NULL AS cpus, NULL AS lost_events, NULL AS complete
          FROM thread_states(:from, :to, :every, :by)
         WHERE running_ns + runnable_ns + preempted_ns + throttled_ns + disk_ns + uninterruptible_ns + unknown_ns > 0
        UNION ALL
        SELECT t_ns, span_ns, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               rss_bytes, rss_peak_bytes, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
          FROM memory_levels(:from, :to, :every, :by)
         WHERE rss_peak_bytes > 0 AND ((t_ns = :from AND :continues IS NOT 1) OR rss_peak_bytes <> rss_low_bytes)
        UNION ALL
        SELECT t_ns, span_ns, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               iif(source = 'rss', alloc_bytes, NULL), iif(source = 'slab', alloc_bytes, NULL),
               iif(source = 'page', alloc_bytes, NULL), iif(source = 'heap', alloc_bytes, NULL), NULL, NULL,
               NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
          FROM alloc_usage(:from, :to, :every, :by) WHERE alloc_bytes > 0 AND source <> 'vm'
        UNION ALL
        SELECT t_ns, NULL, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL, NULL, NULL, NULL, NULL, NULL, 1, bytes, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
          FROM (SELECT :from + coalesce((start_ns - :from) / nullif(:every, 0) * :every, 0) AS t_ns, bytes,
                       name
                  FROM memory_spikes(:from, :to, 0, 0, :by) WHERE kind <> 'machine')
        UNION ALL
        SELECT t_ns, span_ns, name, device_name(dev), op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ios, bytes, lat_sum_ns, lat_max_ns, NULL, NULL, NULL,
               NULL
          FROM io_usage(:from, :to, :every, :by || ',device,op')
        UNION ALL
        SELECT t_ns, span_ns, name, device_name(dev), op, low_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ios, NULL, NULL, NULL
          FROM latency_hist(:from, :to, :every, :by || ',device,op') WHERE phase = 'total' AND ios > 0
        UNION ALL
        SELECT t_ns, span_ns, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               (SELECT count(*) FROM cpus), view_lost(t_ns, t_end_ns), view_complete(t_ns, t_end_ns)
          FROM window_loss(:from, :to, :every) WHERE class = 'sched')
 GROUP BY t_ns, name, device, op, lat_low_ns ORDER BY t_ns
