-- Who allocated, freed and held how much memory?
--
-- One row per process (or thread, comm, cgroup) and source. Sources overlap, never add them up:
--   rss   resident memory (anon + file + shmem): growth is allocated, shrinking is freed
--   slab  kernel objects allocated on behalf of it; page: page frames likewise
--   vm    mapped address space (VmSize); heap: the C library's allocator, if recorded
-- Columns:
--   allocs, frees            events (rss, vm: steps up, steps down); a free counts for whoever allocated
--   alloc_bytes, free_bytes  their bytes; what a process held at its end is freed there
--   net_bytes                alloc_bytes - free_bytes
--   peak_bytes, peak_ns      highest level inside the window, and when it was first reached. rss, vm: all the process
--                            has, its memory at the trace's start included; slab, page, heap: allocated since then
--   now_bytes                level at the window's end
--   lost_frees               objects whose address was allocated again without a free event: the kernel announces no bulk
--                            frees, or the free was lost. Their bytes are freed at that instant
-- The kernel batches RSS counters per CPU: a value may be off by some tens of pages per CPU, not accumulating.
-- complete: levels count from the trace's start, so a time in which the source was off makes all that follows
-- incomplete.
-- [irq] is what interrupts allocated; [unknown] frees what was allocated before the trace.
-- Threads: rss and vm belong to a process and have no tid.
SELECT $t
       $keys
       u.source AS source, u.allocs AS allocs, u.frees AS frees,
       u.alloc_bytes AS alloc_bytes, u.free_bytes AS free_bytes, u.net_bytes AS net_bytes,
       u.peak_bytes AS peak_bytes, u.peak_ns AS peak_ns, u.now_bytes AS now_bytes,
       u.lost_frees AS lost_frees,
       is_complete('alloc.' || u.source, u.t_ns, u.t_end_ns)
       AND source_off_ns('alloc.' || u.source, 0, u.t_end_ns) = 0 AS complete,
       lost_events('alloc', u.t_ns, u.t_end_ns) AS lost_events
  FROM alloc_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
WINDOW whole AS (PARTITION BY u.t_ns, u.upid, u.utid, u.name)
 ORDER BY u.t_ns,
       coalesce(max(u.alloc_bytes) FILTER (WHERE u.source <> 'vm') OVER whole, 0) DESC,
       coalesce(max(u.peak_bytes) FILTER (WHERE u.source = 'rss') OVER whole, 0) DESC,
       u.upid, u.utid, u.name,
       CASE u.source WHEN 'rss' THEN 0 WHEN 'heap' THEN 1 WHEN 'slab' THEN 2 WHEN 'page' THEN 3 ELSE 4 END
