-- view Recording 2: What did recording cost?
-- note: The recorder samples its counters about once a second; a window gets its share of a sample's time and bytes.
--   Events and skipped runs count in the window in which their sample ends, as in `loss`. Time in the kernel is
--   extrapolated from the measured runs, at first one in sixteen, later one in 128. MACHINE % is the share of the
--   time of all CPUs. The time of the --heap library inside programs is an estimate, and no other row includes it.
-- needs: sched? alloc? block?
-- takes: every sort
--
-- The result has one row for everything, one each for the recorder's CPU time in user and in system mode, one per
-- kernel hook, and one for the library of record --heap (part workload). The library's time is estimated: number of
-- events times the time per event that the most recently started program measured at its start (cold caches cost
-- more), plus number of stacks times the mean time per stack, of which each thread measures one in 64. Columns:
--   cpu_ns, cpu_pct  CPU time, and its share of the window: 100 is one CPU
--   machine_pct      its share of all CPUs online: record --max-overhead limits this figure
--                    (of hooks, and of everything, empty if run times were not measured: that needs CAP_SYS_ADMIN)
--   runs, ns_per_run number of runs of the hook's programs, and mean length of a run
--   measured         number of runs that were measured. Measuring costs CPU time itself, so the recorder measures for
--                    about 50 ms of every 0.8 s, after 3 s of every 6.4 s, and extrapolates runs and cpu_ns of hooks
--                    by the number of events. cpu_ns of adjacent windows adds up. runs may not add up, since each
--                    window has its own measured runs per event; runs is empty if a window has none. Programs that
--                    filter out most events (--only, -p, --offcpu) are extrapolated by time
--   events           events read; skipped: runs that the kernel skipped
--   bytes_written    bytes on disk
--   ring_used_max_bytes, queue_max_bytes, rss_bytes   highest fill of any ring, largest number of bytes that waited
--                    to be encoded, and resident memory of the recorder: each the maximum over the samples that
--                    overlap the window
-- The recorder samples its counters about once a second. A window gets its share of a sample. Events and skipped runs
-- count in the window in which their sample ends, as in report loss, so that counts of adjacent windows add up.
WITH span AS (SELECT max(span_ns, 1) AS ns FROM window_loss(:from, :to) LIMIT 1),
s AS (SELECT * FROM cost WHERE from_ns < :to AND to_ns > :from),
c AS (SELECT sum(window_share(user_ns, from_ns, to_ns, :from, :to)) AS user_ns,
	     sum(window_share(sys_ns, from_ns, to_ns, :from, :to)) AS sys_ns,
	     sum(window_share(bytes_written, from_ns, to_ns, :from, :to)) AS bytes,
	     max(ring_used_max_bytes) AS ring, max(queue_max_bytes) AS queue, max(rss_bytes) AS rss,
	     coalesce(max(cpu_cnt), (SELECT count(*) FROM cpus)) AS cpus
	FROM s),
told AS (SELECT count(*) = 0 AS yes FROM info WHERE key = 'lacks'
    AND value LIKE '%run times of programs need CAP_SYS_ADMIN%'),
h AS (SELECT hook, CASE WHEN (SELECT yes FROM told)
    THEN sum(window_share(cost_ns, from_ns, to_ns, :from, :to)) END AS run_ns,
	     sum(run_time_ns) AS measured_ns, sum(run_cnt) AS measured, sum(sampled_cnt) AS sampled,
	     sum(window_share(attempted_cnt, from_ns, to_ns, :from, :to)) AS attempted,
	     coalesce(sum(read_cnt) FILTER (WHERE to_ns <= :to), 0) AS events,
	     sum(window_share(read_cnt, from_ns, to_ns, :from, :to)) AS wrote
	FROM hook_stats WHERE from_ns < :to AND to_ns > :from GROUP BY hook),
m AS (SELECT hook, sum(missed_cnt - inferred_cnt) AS skipped
	FROM losses WHERE missed_cnt > inferred_cnt AND from_ns < :to AND max(to_ns - 1, from_ns) >= :from
	     AND max(to_ns - 1, from_ns) < :to GROUP BY hook),
parts AS (
SELECT 0 AS n, 'all' AS part, '' AS name, CASE WHEN (SELECT yes FROM told)
    THEN c.user_ns + c.sys_ns + coalesce((SELECT sum(run_ns) FROM h), 0) END AS cpu_ns,
       NULL AS runs, NULL AS ns_per_run, NULL AS measured, (SELECT sum(events) FROM h) AS events,
       coalesce((SELECT sum(skipped) FROM m), 0) AS skipped, bytes AS bytes_written, ring AS ring_used_max_bytes,
       queue AS queue_max_bytes, rss AS rss_bytes
  FROM c WHERE user_ns IS NOT NULL
UNION ALL
SELECT 1, 'recorder', 'user', user_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM c
    WHERE user_ns IS NOT NULL
UNION ALL
SELECT 1, 'recorder', 'system', sys_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM c
    WHERE sys_ns IS NOT NULL
UNION ALL
SELECT 2, 'kernel', lower(h.hook), run_ns,
       CAST(round(coalesce(iif(measured / 4 > sampled, NULL,
           1.0 * attempted * nullif(measured, 0) / nullif(sampled, 0)),
               1.0 * run_ns * measured / nullif(measured_ns, 0))) AS INTEGER),
       round(1.0 * measured_ns / nullif(measured, 0), 1), measured, events, coalesce(m.skipped, 0), NULL, NULL, NULL,
           NULL
  FROM h LEFT JOIN m USING (hook) WHERE measured > 0 OR events > 0 OR run_ns > 0
UNION ALL
SELECT 3, 'workload', 'heap library', CAST(sum(wrote) * value / 1000 AS INTEGER), sum(wrote), round(value / 1000.0, 1),
       NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM h, (SELECT CAST(value AS INTEGER) AS value FROM info WHERE key = 'heap.event_ps' AND value <> '0')
 WHERE lower(hook) IN ('heap_alloc', 'heap_free') HAVING sum(wrote) > 0)
SELECT part, name, cpu_ns, round(100.0 * cpu_ns / span.ns, 3) AS cpu_pct,
       round(100.0 * cpu_ns / span.ns / c.cpus, 3) AS machine_pct,
       runs, ns_per_run, measured, events, skipped, bytes_written, ring_used_max_bytes, queue_max_bytes, rss_bytes
  FROM parts, span, c
 ORDER BY n, cpu_ns DESC, events DESC
