-- view 0: What does a monitoring system read about a window?
-- needs: sched? alloc? block? app.span?
-- reach: before
-- takes: every
-- by: comm unit container user
-- default: comm
--
-- This is for `ebpfrec metrics` and `export --to openmetrics`. schema/metrics.awk explains how the lines declare
-- metrics. Text columns are labels, and "who" is the label of --by. Rows with equal labels are added up; of peaks,
-- the maximum counts. The names with the largest values in the first figure of a section are selected, the largest
-- first. Sleeping does not make a name large, so waits by kind follow the waits for a CPU. Rows of the trace's lists
-- (sources, cost) count at their end, so that adjacent windows add up. The first and the last bin of an export may
-- extend beyond the trace: span_ns is the part inside.
--
-- gauge peak_interval_seconds peak_interval_ns: Length of the interval whose peaks are shown.
-- gauge recording recording: 1: the trace is being recorded.
-- gauge snapshots snapshots: Snapshots that lie beside the trace, made by SIGUSR2 or --trigger.
-- gauge build_info build_info: 1: the version of ebpfrec that counts.

-- section: cpu
-- counter cpu_seconds oncpu_ns: Time on any CPU.
-- counter context_switches switches: Switches away from a CPU.
-- counter preemptions preempted: Switches away from a CPU while still runnable.
SELECT u.t_ns AS t_ns, iif(:by = 'comm', u.comm_then, task_key(:by, u.upid)) AS who, sum(u.oncpu_ns) AS oncpu_ns,
    sum(u.switches) AS switches,
       sum(u.preempted) AS preempted
  FROM cpu_usage(:from, :to, :every) AS u GROUP BY u.t_ns, who ORDER BY u.t_ns, oncpu_ns DESC, who

-- section: states
-- counter thread_state_seconds running_ns state=running: Time that threads spent in a state.
-- counter thread_state_seconds runnable_ns state=runnable
-- counter thread_state_seconds preempted_ns state=preempted
-- counter thread_state_seconds throttled_ns state=throttled
-- counter thread_state_seconds disk_ns state=disk
-- counter thread_state_seconds uninterruptible_ns state=uninterruptible
-- counter thread_state_seconds sleeping_ns state=sleeping
-- counter thread_state_seconds stopped_ns state=stopped
-- counter thread_state_seconds unknown_ns state=unknown
SELECT t_ns, name AS who, running_ns, runnable_ns, preempted_ns, throttled_ns,
       CASE WHEN was_recorded('block') THEN disk_ns END AS disk_ns,
       uninterruptible_ns, sleeping_ns, stopped_ns, unknown_ns
  FROM thread_states(:from, :to, :every, :by) ORDER BY t_ns, running_ns DESC, who

-- section: waits
-- counter cpu_wait_seconds wait_ns: Time spent waiting for a CPU.
-- counter cpu_waits waits: Waits for a CPU that ended.
-- peak cpu_wait_peak_seconds wait_max_ns: Longest wait for a CPU that ended in the peak interval.
-- counter wait_seconds kind_ns: Time that threads spent off the CPUs, by what they waited for.
SELECT t_ns, name AS who, NULL AS kind, wait_ns, waits, wait_max_ns, NULL AS kind_ns
  FROM sched_waits(:from, :to, :every, :by)
UNION ALL
SELECT t_ns, name, kind, NULL, NULL, NULL, sum(wait_ns) FROM wait_kinds(:from, :to, :every, :by)
  GROUP BY t_ns, name, kind
 ORDER BY t_ns, wait_ns DESC, who, kind

-- section: memory
-- gauge resident_bytes rss_bytes: Resident memory.
-- peak resident_peak_bytes rss_peak_bytes: Highest resident memory in the peak interval.
SELECT t_ns, name AS who, now_bytes AS rss_bytes, peak_bytes AS rss_peak_bytes
  FROM alloc_usage(:from, :to, :every, :by) WHERE source = 'rss' ORDER BY t_ns, rss_peak_bytes DESC, who

-- section: alloc
-- counter allocated_bytes alloc_bytes: Memory allocated. Sources overlap; do not add them.
-- counter freed_bytes free_bytes: Memory freed. Sources overlap; do not add them.
-- counter exit_bytes exit_bytes: Memory that processes still held when they ended or called exec.
SELECT t_ns, name AS who, source, alloc_bytes, free_bytes, exit_bytes
  FROM alloc_usage(:from, :to, :every, :by) WHERE source <> 'vm' ORDER BY t_ns, alloc_bytes DESC, who

-- section: bursts
-- peak burst_peak_bytes bytes: Largest spike of memory (at least 16 MiB) that began in the peak interval.
SELECT :from + coalesce((start_ns - :from) / nullif(:every, 0) * :every, 0) AS t_ns, name AS who, bytes
  FROM memory_spikes(:from, :to, :spike_window, 16777216, :by) WHERE kind <> 'machine' ORDER BY bytes DESC, who

-- section: io
-- counter io_bytes bytes: Bytes of block requests that ended, by owner.
-- counter io_requests ios: Block requests that ended, by owner.
SELECT t_ns, name AS who, op, bytes, ios FROM io_usage(:from, :to, :every, :by || ',op') ORDER BY t_ns, bytes DESC, who

-- section: unowned
-- counter unowned_bytes bytes: Bytes of block requests of unknown owners, which the figures of a name may lack.
-- counter unowned_requests ios: Block requests of unknown owners.
WITH u AS MATERIALIZED (SELECT t_ns, sum(bytes) AS bytes, sum(ios) AS ios FROM io_usage(:from, :to, :every, 'process')
                         WHERE owner_how = 'unknown' AND bytes > 0 GROUP BY t_ns)
SELECT b.t_ns AS t_ns, coalesce(u.bytes, 0) AS bytes, coalesce(u.ios, 0) AS ios
  FROM window_loss(:from, :to, :every) AS b LEFT JOIN u ON u.t_ns = b.t_ns
 WHERE b.class = 'sched' AND was_recorded('block') ORDER BY b.t_ns

-- section: requests
-- counter device_bytes bytes: Bytes of block requests that ended. Devices stack; do not add layers.
-- counter device_requests ios: Block requests that ended.
-- counter device_errors errors: Block requests that failed.
-- peak request_peak_seconds lat_max_ns: Longest time of a block request that ended in the peak interval.
SELECT t_ns, device_name(dev) AS device, op, bytes, ios, errors, lat_max_ns
  FROM io_usage(:from, :to, :every, 'device,op') ORDER BY t_ns, bytes DESC, device

-- section: latency
-- histogram request_seconds ios: Time of block requests from queueing to completion.
SELECT t_ns, device_name(dev) AS device, op, high_ns, ios, NULL AS sum_ns
  FROM latency_hist(:from, :to, :every, 'device,op') WHERE phase = 'total' AND ios > 0
UNION ALL
SELECT t_ns, device_name(dev), op, NULL, NULL, lat_sum_ns FROM io_usage(:from, :to, :every, 'device,op')

-- section: spans
-- counter app_requests requests: Requests of programs that ended, by name.
-- counter app_request_errors errors: Requests of programs that ended with an error.
SELECT :from + coalesce((end_ns - :from) / nullif(:every, 0) * :every, 0) AS t_ns, name AS request,
       count(*) AS requests, sum(failed) AS errors
  FROM requests(:from, :to) WHERE end_ns NOTNULL GROUP BY 1, 2 ORDER BY t_ns, requests DESC, request

-- section: lengths
-- histogram app_request_seconds requests: Length of requests of programs.
SELECT :from + coalesce((end_ns - :from) / nullif(:every, 0) * :every, 0) AS t_ns, name AS request,
       2 * size_class(dur_ns) AS high_ns, count(*) AS requests, sum(dur_ns) AS sum_ns, id AS slow_id,
       max(dur_ns) AS slow_ns
  FROM requests(:from, :to) WHERE end_ns NOTNULL GROUP BY 1, 2, 3

-- section: sources
-- counter events events: Events recorded.
-- counter lost_events lost: Events lost.
-- counter source_off_seconds off_ns: Time in which record --max-overhead had turned a source off.
WITH bin AS (SELECT t_ns, max(t_ns, 0) AS begin_ns, span_ns FROM window_loss(:from, :to, :every) WHERE class = 'sched')
SELECT :from + coalesce((max(to_ns - 1, from_ns) - :from) / nullif(:every, 0) * :every, 0) AS t_ns, source,
       read_cnt AS events,
       0 AS lost, 0 AS off_ns
  FROM hook_stats WHERE to_ns >= :from AND from_ns < :to AND max(to_ns - 1, from_ns) >= :from
  AND max(to_ns - 1, from_ns) < :to
UNION ALL
SELECT :from + coalesce((max(to_ns - 1, from_ns) - :from) / nullif(:every, 0) * :every, 0), source, 0, lost_cnt, 0
  FROM losses WHERE from_ns < :to AND max(to_ns - 1, from_ns) >= :from AND max(to_ns - 1, from_ns) < :to
UNION ALL
SELECT t_ns, source, 0, 0, source_off_ns(source, begin_ns, begin_ns + span_ns)
  FROM (SELECT DISTINCT source FROM source_gaps), bin

-- section: cost
-- counter recorder_cpu_seconds user_ns mode=user: CPU time of the recorder, and of its programs in the kernel.
-- counter recorder_cpu_seconds sys_ns mode=system
-- counter recorder_cpu_seconds kernel_ns mode=programs
-- counter recorder_written_bytes bytes_written: Bytes written to the trace.
SELECT :from + coalesce((to_ns - 1 - :from) / nullif(:every, 0) * :every, 0) AS t_ns, user_ns, sys_ns,
       NULL AS kernel_ns, bytes_written
  FROM cost WHERE to_ns > :from AND to_ns <= :to
UNION ALL
SELECT :from + coalesce((to_ns - 1 - :from) / nullif(:every, 0) * :every, 0), NULL, NULL, cost_ns, NULL
  FROM hook_stats WHERE to_ns > :from AND to_ns <= :to

-- section: trace
-- counter incomplete_seconds incomplete_ns: Time of windows whose counts are incomplete, because events were lost, a source was off or a part is damaged.
-- counter missing_seconds missing_ns: Time that was not counted, because no block has it, it was removed before, or its events came too late.
-- gauge trace_end_timestamp_seconds end_unix_ns: Wall-clock time of the instant up to which everything is counted.
-- gauge trace_end_monotonic_seconds end_mono_ns: The same instant by the trace's own clock, CLOCK_MONOTONIC.
SELECT b.t_ns AS t_ns, unix_ns(max(b.t_ns, 0) + b.span_ns) AS end_unix_ns,
       (SELECT mono_ns - ts_ns FROM clocks LIMIT 1) + max(b.t_ns, 0) + b.span_ns AS end_mono_ns,
       iif(view_complete(max(b.t_ns, 0), max(b.t_ns, 0) + b.span_ns), 0, b.span_ns) AS incomplete_ns,
       b.span_ns - coalesce(sum(min(k.to_ns, b.t_end_ns) - max(k.from_ns, b.t_ns)), 0) AS missing_ns
  FROM window_loss(:from, :to, :every) AS b LEFT JOIN blocks AS k ON k.from_ns < b.t_end_ns AND k.to_ns > b.t_ns
 WHERE b.class = 'sched' GROUP BY b.t_ns
