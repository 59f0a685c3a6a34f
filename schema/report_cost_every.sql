-- variant of cost every: What did recording cost?
--
-- The result has one row per bin. user_ns, sys_ns: CPU time of the recorder; kernel_ns: CPU time of its programs in
-- the kernel, extrapolated from samples. cpu_pct: share of the sum, 100 is one CPU; machine_pct: share of all CPUs
-- online, which record --max-overhead limits. kernel_ns and the shares are empty if run times were not measured: that
-- needs CAP_SYS_ADMIN.
-- The recorder samples its counters about once a second. A bin gets its share of a sample's sums; of a maximum, it
-- has the largest value of the samples that overlap the bin. Events count in the bin in which their sample ends.
WITH told AS (SELECT count(*) = 0 AS yes FROM info
                WHERE key = 'lacks' AND value LIKE '%run times of programs need CAP_SYS_ADMIN%'),
h AS (SELECT from_ns, to_ns, sum(cost_ns) AS kernel_ns, sum(read_cnt) AS events FROM hook_stats
        GROUP BY from_ns, to_ns),
s AS (SELECT c.*, h.kernel_ns AS kernel_ns, h.events AS events FROM cost AS c LEFT JOIN h USING (from_ns, to_ns)),
b AS (SELECT u.t_ns AS t_ns, u.span_ns AS span_ns,
	     sum(window_share(s.user_ns, s.from_ns, s.to_ns, u.t_ns, u.t_end_ns)) AS user_ns,
	     sum(window_share(s.sys_ns, s.from_ns, s.to_ns, u.t_ns, u.t_end_ns)) AS sys_ns,
	     CASE WHEN (SELECT yes FROM told) THEN
		  coalesce(sum(window_share(s.kernel_ns, s.from_ns, s.to_ns, u.t_ns, u.t_end_ns)), 0) END AS kernel_ns,
	     coalesce(sum(s.events) FILTER (WHERE s.to_ns <= u.t_end_ns), 0) AS events,
	     sum(window_share(s.bytes_written, s.from_ns, s.to_ns, u.t_ns, u.t_end_ns)) AS bytes_written,
	     max(s.ring_used_max_bytes) AS ring_used_max_bytes, max(s.queue_max_bytes) AS queue_max_bytes,
	     max(s.rss_bytes) AS rss_bytes, max(s.cpu_cnt) AS cpus
	FROM window_loss(:from, :to, :every) AS u
       CROSS JOIN s ON s.from_ns < u.t_end_ns AND s.to_ns > u.t_ns
       WHERE u.class = 'sched'
       GROUP BY u.t_ns)
SELECT t_ns, user_ns, sys_ns, kernel_ns, round(100.0 * (user_ns + sys_ns + kernel_ns) / max(span_ns, 1), 3) AS cpu_pct,
       round(100.0 * (user_ns + sys_ns + kernel_ns) / max(span_ns, 1) / coalesce(cpus, (SELECT count(*) FROM cpus)), 3)
       AS machine_pct,
       events, bytes_written, ring_used_max_bytes, queue_max_bytes, rss_bytes
  FROM b ORDER BY t_ns
