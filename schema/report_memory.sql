-- How much memory did processes have?
--
-- One row per process that had any. Columns:
--   rss_bytes                    resident at the end of the window (or bin): anon + file + shmem
--   anon_bytes .. swap_bytes     its parts, and what is swapped out
--   vm_bytes                     mapped (VmSize)
--   rss_peak_bytes, rss_peak_ns  highest resident size inside the window, and when it was first reached
--   rss_low_bytes                lowest
-- The kernel's counters are batched: each may be off by max(32, 2 x CPUs) pages per CPU, never accumulating. From Linux 6.2 on
-- a machine of up to four CPUs ebpfrec adds up the parts and is exact.
SELECT $t
       p.pid AS pid, p.comm AS comm, u.rss_bytes AS rss_bytes, u.anon_bytes AS anon_bytes, u.file_bytes AS file_bytes,
       u.shmem_bytes AS shmem_bytes, u.swap_bytes AS swap_bytes, u.vm_bytes AS vm_bytes,
       u.rss_peak_bytes AS rss_peak_bytes, u.rss_peak_ns AS rss_peak_at_ns, u.rss_low_bytes AS rss_low_bytes,
       is_complete('alloc.rss', u.t_ns, u.t_end_ns) AS complete, lost_events('alloc', u.t_ns, u.t_end_ns) AS lost_events
  FROM memory_levels(:from, :to, :every) AS u LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY u.t_ns, u.rss_peak_bytes DESC, u.vm_bytes DESC
