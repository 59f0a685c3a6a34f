-- view Memory 1: How much memory did processes have?
-- note: Sizes are those at the end of the window or bin. The kernel batches RSS counters per CPU:
--   each may be off by up to 32 pages (or twice the number of CPUs, if that is more) per CPU; the
--   error does not accumulate.
-- by: process comm cgroup container unit user tree
-- needs: alloc.rss alloc.vm? alloc.heap?
-- reach: before state levels
-- index: levels
-- takes: every who sort
-- figure: rss_bytes
-- drops: rss_low_bytes vm_bytes swap_bytes rss_peak_at_ns shmem_bytes file_bytes
-- rows: sums
--
-- The result has one row per process with memory; with --by per comm, container and so on: the sum of their
-- processes, in which shared memory counts for each process. Columns:
--   rss_bytes                    resident at the end of the window (or bin): anon + file + shmem
--   anon_bytes .. swap_bytes     parts of it, and swapped-out memory
--   vm_bytes                     mapped address space (VmSize)
--   rss_peak_bytes, rss_peak_ns  highest resident size inside the window, and the first instant with this size; for a
--                                process that called exec in the window, only after the exec
--   rss_low_bytes                lowest resident size inside the window
--   heap_bytes                   live objects of the heap at that end (record --heap), in requested bytes
--   heap_kept_bytes              upper bound of memory freed but not returned to the kernel: heap_bytes at its peak
--                                in the window, but at most anon_bytes, minus heap_bytes
-- The kernel batches these counters per CPU: each may be off by max(32, 2 x CPUs) pages per CPU, and
-- the error does not accumulate. From Linux 6.2 on, on a machine of up to four CPUs, ebpfrec adds the
-- per-CPU parts and is exact.
WITH heap AS MATERIALIZED (
	SELECT t_ns, upid, name, now_bytes, peak_bytes FROM alloc_usage(:from, :to, :every, :by)
	 WHERE source = 'heap' AND was_recorded('alloc.heap'))
SELECT $t
       $keys u.rss_bytes AS rss_bytes, u.anon_bytes AS anon_bytes, u.file_bytes AS file_bytes,
       u.shmem_bytes AS shmem_bytes, u.swap_bytes AS swap_bytes, u.vm_bytes AS vm_bytes,
       u.rss_peak_bytes AS rss_peak_bytes, u.rss_peak_ns AS rss_peak_at_ns, u.rss_low_bytes AS rss_low_bytes,
       h.now_bytes AS heap_bytes, max(0, min(u.anon_bytes, h.peak_bytes) - h.now_bytes) AS heap_kept_bytes,
       view_complete(u.t_ns, u.t_end_ns) AS complete, view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM memory_levels(:from, :to, :every, :by) AS u LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN heap AS h ON h.t_ns = u.t_ns AND h.upid IS u.upid AND h.name = u.name
 ORDER BY u.t_ns, u.rss_peak_bytes DESC, u.vm_bytes DESC
