-- view Memory 3: Whose memory grew, how evenly, and what kept it?
-- note: GROWN/S is the slope of the straight line that fits the window best. LINEAR is the quality of this fit: 100 %
--   is even growth, and a low value is a step, or memory that grows and shrinks. The call site is the one whose held
--   memory grew most from the window's start to its end. KEPT % is the share of its allocations that are still held,
--   and AGE P50 is their median age, which is half of the window if such allocations were spread evenly. Sources
--   overlap, so do not add them up.
-- without alloc.heap: Heap memory was not recorded, so the report excludes malloc: `ebpfrec record --heap -- COMMAND`
--   records it. The rows are resident memory, and memory of the kernel.
-- by: process
-- needs: alloc
-- reach: before state levels
-- index: objects
-- takes: who sort
-- figure: grown_bytes
-- drops: lost_events kept_bytes age_p50_ns
--
-- The result has one row per process and source that grew in the window. Columns:
--   grown_bytes            the level at the window's end minus the level at its start; for a process that ended in
--                          the window, at its end
--   grown_error_bytes      record --heap=SIZE: upper bound of the error of grown_bytes in nine of ten cases
--                          (heap_error())
--   grown_bytes_per_s      slope of the least-squares line through the levels at the ends of up to 64 equal bins
--   linear_pct             coefficient of determination of this line (R2): the part of the variance of the levels
--                          that the line explains
--   call_site              function or address that allocated, or the kmem_cache or order of the pages; empty for
--                          resident memory. It is the call site with the largest net growth: bytes allocated in the
--                          window and still held, minus bytes of older objects that were freed in the window. Older
--                          objects are looked up one length of the window back; an object that is older than that
--                          counts as kept. Wrappers of the allocator are skipped if stacks were recorded (record
--                          --stacks)
--   kept_pct               share of this site's allocations in the window that were not freed by its end
--   kept_bytes, age_p50_ns their bytes, and their median age at the window's end
WITH step AS MATERIALIZED (
	SELECT ns, (:to - :from + ns - 1) / ns AS bins FROM (SELECT max((:to - :from + 63) / 64, 1) AS ns)),
-- the level above that of the start, from the bin n until before the bin next
level AS (
        SELECT u.upid AS upid, u.source AS source, bins, (u.t_ns - :from) / ns AS n,
               $sampled u.now_bytes - u.net_bytes AS level_bytes,
               u.net_bytes + u.exit_bytes AS net_bytes, 1.0 * sum(u.net_bytes + u.exit_bytes) OVER grows AS y,
	       lead((u.t_ns - :from) / ns, 1, bins) OVER grows AS next
	  FROM step CROSS JOIN alloc_usage(:from, :to, ns, 'process') AS u WHERE u.source <> 'vm' AND u.upid NOT NULL
	WINDOW grows AS (PARTITION BY u.upid, u.source ORDER BY u.t_ns)),
sums AS (
        SELECT upid, source, bins, sum(net_bytes) AS grown_bytes, sum(y * (next - n)) AS y,
               sum(y * y * (next - n)) AS yy,
	       sum(y * (next * (next - 1) - n * (n - 1)) / 2) AS xy
	       $sampled , min(n), level_bytes
	  FROM level GROUP BY upid, source),
-- bins squared times the variances of x and y, and their covariance
line AS (
        SELECT upid, source, grown_bytes, bins * bins * (bins * bins - 1) / 12.0 AS xx, bins * yy - y * y AS yy,
               bins * xy - bins * (bins - 1) / 2 * y AS xy
	       $sampled , level_bytes
	  FROM sums WHERE grown_bytes > 0),
site AS MATERIALIZED (SELECT * FROM growth_sites(:from, :to))
SELECT p.pid AS pid, p.comm AS comm, x.source AS source, x.grown_bytes AS grown_bytes,
       $sampled iif(x.source = 'heap', heap_error(x.grown_bytes + 2 * max(x.level_bytes, 0)), NULL)
       $sampled AS grown_error_bytes,
       CAST(round(1e9 * x.xy / nullif(x.xx, 0) / step.ns) AS INTEGER) AS grown_bytes_per_s,
       round(100 * x.xy * x.xy / nullif(x.xx * x.yy, 0), 3) AS linear_pct,
       s.call_site AS call_site, round(100.0 * s.kept / s.allocs, 3) AS kept_pct, s.kept_bytes AS kept_bytes,
       s.age_p50_ns AS age_p50_ns,
       view_complete(:from, :to, x.source) AS complete, view_lost(:from, :to, x.source) AS lost_events
  FROM step CROSS JOIN line AS x JOIN processes AS p ON p.upid = x.upid
  LEFT JOIN site AS s ON s.upid = x.upid AND s.source = x.source
 ORDER BY x.grown_bytes DESC, x.upid, x.source
