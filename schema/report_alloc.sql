-- view Memory 2: Who allocated, freed and held how much memory?
-- note: Sources overlap (rss, for example, includes heap memory), so do not add them up. The kernel batches RSS
--   counters per CPU, some tens of pages each. Levels of slab, page and heap count from the trace's start, so losses
--   before the window affect them too.
-- by: who
-- needs: alloc
-- reach: before state levels
-- index: objects levels
-- threads: The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes,
--   which belong to processes.
-- takes: every who threads sort
-- figure: alloc_bytes
-- drops: peak_ns alloc_error_bytes now_bytes free_bytes frees allocs
-- rows: sums zeros
--
-- The result has one row per process (or thread, comm, cgroup) and source. The sources overlap, so
-- do not add them:
--   rss   resident memory (anon + file + shmem): growth counts as allocated, shrinking as freed
--   slab  kernel objects allocated on behalf of the process; page: page frames, likewise
--   vm    mapped address space (VmSize); heap: the C library's allocator, if it was recorded
-- Columns:
--   allocs, frees            events (rss, vm: steps up, steps down); a free counts for the allocating
--                            process
--   alloc_bytes, free_bytes  bytes of these events
--   alloc_error_bytes        record --heap=SIZE: upper bound of the error of alloc_bytes in nine of ten cases
--                            (heap_error())
--   net_bytes                alloc_bytes - free_bytes - exit_bytes: the change of the level
--   peak_bytes, peak_ns      highest level inside the window, and the first instant with this level. rss, vm: the
--                            level includes the memory at the trace's start, or, for a process that called exec in
--                            the window, only memory after the exec; slab, page, heap: the level counts allocations
--                            after the trace's start
--   now_bytes                level at the window's end
--   exit_bytes               rss, vm, heap: bytes that a process still held when it ended or called exec; the kernel
--                            released them without a free event
--   lost_frees               objects whose address was allocated again without a free event in
--                            between. The kernel does not report bulk frees, or the free was lost.
--                            The bytes count as freed when the address is allocated again
-- The kernel batches RSS counters per CPU. A value may be off by some tens of pages per CPU; the
-- error does not accumulate.
-- complete: levels count from the trace's start, so an interval without the source makes all later
-- windows incomplete.
-- [irq] is memory that interrupts allocated. [unknown] frees memory from before the trace.
-- Threads: rss and vm belong to a process and have no tid. The same applies to heap memory that a process held when
-- it ended: in a report about threads the share of each thread is unknown, and the levels are empty from then on.
SELECT $t
       $keys
       u.source AS source, u.allocs AS allocs, u.frees AS frees,
       u.alloc_bytes AS alloc_bytes,
       $sampled iif(u.source = 'heap', heap_error(u.alloc_bytes), NULL) AS alloc_error_bytes,
       u.free_bytes AS free_bytes, iif(gone.by_exit, NULL, u.net_bytes) AS net_bytes,
       iif(gone.by_exit AND p.end_ns <= u.t_ns, NULL, u.peak_bytes) AS peak_bytes,
       iif(gone.by_exit AND p.end_ns <= u.t_ns, NULL, u.peak_ns) AS peak_ns,
       iif(gone.by_exit, NULL, u.now_bytes) AS now_bytes,
       iif(gone.by_exit, NULL, u.exit_bytes) AS exit_bytes, u.lost_frees AS lost_frees,
       view_complete(u.t_ns, u.t_end_ns, u.source) AS complete,
       view_lost(u.t_ns, u.t_end_ns, u.source) AS lost_events
  FROM alloc_usage(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
  LEFT JOIN (SELECT 1 AS by_exit) AS gone ON u.source = 'heap' AND scope_of_threads() AND p.end_ns <= u.t_end_ns
WINDOW whole AS (PARTITION BY u.t_ns, u.member_upid, u.utid)
 ORDER BY u.t_ns,
       coalesce(max(u.alloc_bytes) FILTER (WHERE u.source <> 'vm') OVER whole, 0) DESC,
       coalesce(max(u.peak_bytes) FILTER (WHERE u.source = 'rss') OVER whole, 0) DESC,
       u.upid, u.utid, u.name, u.member_upid,
       CASE u.source WHEN 'rss' THEN 0 WHEN 'heap' THEN 1 WHEN 'slab' THEN 2 WHEN 'page' THEN 3 ELSE 4 END
