-- view 0: What does a monitoring system get to know of a window?
-- needs: sched? alloc? block?
-- reach: before
-- takes: every
-- by: comm unit container user
-- default: comm
--
-- This is for `ebpfrec metrics` and `export --to openmetrics`; cmd/metrics/metric_table.c says which column is which
-- metric. Texts are labels, and "who" is the label of --by. Rows with equal labels are added up; of peaks, the highest
-- counts. The first figure of a section says who is large: its rows begin with the largest.
-- Rows of the trace's lists (sources, cost) count where they end, so that neighbouring windows add up. The first and the last bin of an
-- export may reach beyond the trace: span_ns is the part inside.

-- section: cpu
SELECT u.t_ns AS t_ns, task_key(:by, u.upid) AS who, sum(u.oncpu_ns) AS oncpu_ns, sum(u.switches) AS switches,
       sum(u.preempted) AS preempted
  FROM cpu_usage(:from, :to, :every) AS u GROUP BY u.t_ns, task_key(:by, u.upid) ORDER BY u.t_ns, oncpu_ns DESC, who

-- section: states
SELECT t_ns, name AS who, running_ns, runnable_ns, preempted_ns, CASE WHEN was_recorded('block') THEN disk_ns END AS disk_ns,
       uninterruptible_ns, sleeping_ns, stopped_ns, unknown_ns
  FROM thread_states(:from, :to, :every, :by)
UNION ALL
SELECT t_ns, task_key(:by, upid), oncpu_ns, 0, 0, iif(was_recorded('block'), 0, NULL), 0, 0, 0, 0
  FROM cpu_usage(:from, :to, :every) WHERE utid = 1 AND oncpu_ns > 0 ORDER BY t_ns, running_ns DESC, who

-- section: waits
SELECT t_ns, name AS who, wait_ns, waits, wait_max_ns
  FROM sched_waits(:from, :to, :every, :by) ORDER BY t_ns, wait_ns DESC, who

-- section: memory
SELECT t_ns, name AS who, rss_bytes, rss_peak_bytes
  FROM memory_levels(:from, :to, :every, :by) ORDER BY t_ns, rss_peak_bytes DESC, who

-- section: alloc
SELECT t_ns, name AS who, source, alloc_bytes, free_bytes, exit_bytes
  FROM alloc_usage(:from, :to, :every, :by) WHERE source <> 'vm' ORDER BY t_ns, alloc_bytes DESC, who

-- section: bursts
SELECT :from + coalesce((start_ns - :from) / nullif(:every, 0) * :every, 0) AS t_ns, task_key(:by, upid) AS who, bytes
  FROM spikes(:from, :to, :spike_window, 16777216, 'rss') ORDER BY bytes DESC, who

-- section: io
SELECT t_ns, name AS who, op, bytes, ios FROM io_usage(:from, :to, :every, :by || ',op') ORDER BY t_ns, bytes DESC, who

-- section: requests
SELECT t_ns, device_name(dev) AS device, op, bytes, ios, errors, lat_max_ns
  FROM io_usage(:from, :to, :every, 'device,op') ORDER BY t_ns, bytes DESC, device

-- section: latency
SELECT t_ns, device_name(dev) AS device, op, high_ns, ios, NULL AS lat_sum_ns
  FROM latency_hist(:from, :to, :every, 'device,op') WHERE phase = 'total'
UNION ALL
SELECT t_ns, device_name(dev), op, NULL, NULL, lat_sum_ns FROM io_usage(:from, :to, :every, 'device,op')

-- section: sources
WITH bin AS (SELECT t_ns, max(t_ns, 0) AS begin_ns, span_ns FROM window_loss(:from, :to, :every) WHERE class = 'sched')
SELECT :from + coalesce((max(to_ns - 1, from_ns) - :from) / nullif(:every, 0) * :every, 0) AS t_ns, source, read_cnt AS events,
       0 AS lost, 0 AS off_ns
  FROM hook_stats WHERE from_ns < :to AND max(to_ns - 1, from_ns) >= :from AND max(to_ns - 1, from_ns) < :to
UNION ALL
SELECT :from + coalesce((max(to_ns - 1, from_ns) - :from) / nullif(:every, 0) * :every, 0), source, 0, lost_cnt, 0
  FROM losses WHERE from_ns < :to AND max(to_ns - 1, from_ns) >= :from AND max(to_ns - 1, from_ns) < :to
UNION ALL
SELECT t_ns, source, 0, 0, source_off_ns(source, begin_ns, begin_ns + span_ns) FROM (SELECT DISTINCT source FROM source_gaps), bin

-- section: cost
SELECT :from + coalesce((to_ns - 1 - :from) / nullif(:every, 0) * :every, 0) AS t_ns, user_ns, sys_ns, NULL AS kernel_ns, bytes_written
  FROM cost WHERE to_ns > :from AND to_ns <= :to
UNION ALL
SELECT :from + coalesce((to_ns - 1 - :from) / nullif(:every, 0) * :every, 0), NULL, NULL, cost_ns, NULL
  FROM hook_stats WHERE to_ns > :from AND to_ns <= :to

-- section: trace
SELECT b.t_ns AS t_ns, unix_ns(max(b.t_ns, 0) + b.span_ns) AS end_unix_ns,
       (SELECT mono_ns - ts_ns FROM clocks LIMIT 1) + max(b.t_ns, 0) + b.span_ns AS end_mono_ns,
       iif(view_complete(max(b.t_ns, 0), max(b.t_ns, 0) + b.span_ns), 0, b.span_ns) AS incomplete_ns,
       b.span_ns - coalesce(sum(min(k.to_ns, b.t_end_ns) - max(k.from_ns, b.t_ns)), 0) AS missing_ns
  FROM window_loss(:from, :to, :every) AS b LEFT JOIN blocks AS k ON k.from_ns < b.t_end_ns AND k.to_ns > b.t_ns
 WHERE b.class = 'sched' GROUP BY b.t_ns
