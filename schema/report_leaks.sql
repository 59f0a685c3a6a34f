-- view Memory 4: What was allocated in the window and not freed by its end?
-- note: HELD is the holder of the memory: a live process (live), a process that had this heap memory when it ended or
--   called exec (at exit), the kernel, which kept it after the process had ended (after exit), a cache of the kernel
--   for names, inodes and buffers of files, which the kernel frees when memory is short (cache), or the dynamic
--   loader, which keeps it (loader). Most pages that outlive a process belong to files, too. Sources overlap, so do
--   not add them up.
-- without alloc.heap: Heap memory was not recorded, so the report excludes malloc: `ebpfrec record --heap -- COMMAND`
--   records it. The rows are memory of the kernel; its caches come last.
-- by: who site
-- needs: alloc
-- reach: before state
-- index: objects
-- takes: who threads lines sort stacks
-- drops: newest_ns unsure oldest_ns objects
--
-- The result has one row per process (or thread, comm, cgroup), source, kind, call site and recorded
-- stack, or (by site) one row per source, kind and call site: heap first, then slab, pages and caches. Columns:
--   kind       kmem_cache, or order of the pages
--   call_site  kernel function that allocated, or (heap) function of the program, or the reason why
--              it has no name; empty for pages. Wrappers of the allocator, such as xmalloc, are skipped
--              if the stack was recorded (record --stacks)
--   objects, bytes        objects that were not freed by the window's end, and their bytes
--   error_bytes           record --heap=SIZE: upper bound of the error of bytes in nine of ten cases (heap_error())
--   oldest_ns, newest_ns  greatest and smallest age of these objects at that instant, or when the process
--              ended
--   unsure     part of objects whose free may have been missed, because the source was off for some time between
--              their allocation and the window's end
--   user_stack, kernel_stack  call chain, outermost function first, separated by ';'. Both are empty
--              if no stack of these objects was recorded (record --stacks). By site, the chain of the
--              recorded stack that holds the most bytes
--   held       live: the process lives and may still use it; at exit: the process held this heap memory
--              when it ended or called exec, within the window; after exit: kernel memory that was still
--              allocated at the window's end, though the process that allocated it had ended; cache: slab
--              memory of caches that the kernel can shrink, by their names; loader: heap memory of the
--              dynamic loader, which keeps it for each loaded library, after all other heap memory.
--              A row by site may have two of these values
WITH ends AS MATERIALIZED (
	SELECT upid, end_ns, lag(end_ns, 1, -1) OVER (PARTITION BY upid ORDER BY end_ns) AS after_ns
	  FROM (SELECT upid, end_ns FROM processes WHERE end_ns < :to
		UNION ALL SELECT upid, ts_ns FROM task_events WHERE type = 'exec' AND ts_ns < :to)
),
x AS (
	SELECT a.*, e.end_ns AS end_ns, iif($bycomm, comm_at(a.upid, a.alloc_ns), NULL) AS comm_then,
	       iif($bythreadname, thread_comm_at(a.utid, a.alloc_ns), NULL) AS thread_name_then
	  FROM allocations(:to) AS a LEFT JOIN ends AS e
	       ON e.upid = a.upid AND a.source = 'heap' AND a.alloc_ns > e.after_ns AND a.alloc_ns <= e.end_ns
	 WHERE a.alloc_ns >= :from AND a.alloc_ns < :to AND a.free_ns IS NULL AND thread_in_scope(a.utid, a.alloc_ns)
),
u AS (
	SELECT x.utid AS utid, x.upid AS upid, x.comm_then AS comm_then, x.thread_name_then AS thread_name_then,
	    x.source AS source, x.cache AS cache, x.page_order AS page_order,
	       max(x.symbol) AS symbol, max(x.call_site) AS call_site,
	       $full count(*) AS objects, sum(x.bytes) AS bytes,
	       $sampled sum(iif(x.source = 'heap', heap_weight(x.bytes), 1)) AS objects,
	       $sampled sum(iif(x.source = 'heap', heap_bytes(x.bytes), x.bytes)) AS bytes,
	       max(coalesce(x.end_ns, :to) - x.alloc_ns) AS oldest_ns, min(coalesce(x.end_ns, :to) - x.alloc_ns) AS newest_ns,
	       sum(x.unsure) AS unsure, x.end_ns IS NULL AS is_live,
	       stack_text(x.stack, max(x.alloc_ns), 'user') AS user_stack,
	       stack_text(x.stack, max(x.alloc_ns), 'kernel') AS kernel_stack
	  FROM x GROUP BY x.utid, x.comm_then, x.thread_name_then, x.source, x.cache, x.page_order,
	      coalesce(x.symbol, x.call_site), x.stack, is_live
),
g AS (
	SELECT $cpukeys u.source AS source, coalesce(u.cache, 'order ' || u.page_order, '') AS kind,
	       coalesce(code_text(u.symbol, u.call_site), '') AS call_site,
	       sum(u.objects) AS objects, sum(u.bytes) AS bytes, max(u.oldest_ns) AS oldest_ns,
	       min(u.newest_ns) AS newest_ns, sum(u.unsure) AS unsure, u.user_stack AS user_stack,
	           u.kernel_stack AS kernel_stack,
	       CASE WHEN u.cache IN ('buffer_head', 'dentry', 'radix_tree_node', 'jbd2_journal_head', 'mb_cache_entry')
			 OR u.cache GLOB '*inode*' OR u.cache GLOB '*extent_status' THEN 'cache'
		    WHEN u.source = 'heap' AND u.symbol GLOB '* [[]ld-*.so*' THEN 'loader'
		    WHEN u.is_live AND (p.end_ns IS NULL OR p.end_ns >= :to) THEN 'live'
	            WHEN u.source = 'heap' THEN 'at exit' ELSE 'after exit' END AS held_by,
	       iif(:by = 'site' AND :stacks IS NOT 1, 0, row_number() OVER ()) AS apart
	  FROM u JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
	 GROUP BY $cpugroup u.source, u.cache, u.page_order, coalesce(u.symbol, u.call_site), u.user_stack, u.kernel_stack,
	     held_by
),
r AS (
	SELECT g.*, sum(objects) OVER site AS all_objects, sum(bytes) OVER site AS all_bytes,
	    max(oldest_ns) OVER site AS max_ns,
	       min(newest_ns) OVER site AS min_ns, sum(unsure) OVER site AS all_unsure,
	       nullif(min(held_by) OVER site, max(held_by) OVER site) || ', ' AS held_too, max(held_by) OVER site AS held,
	       row_number() OVER (site ORDER BY user_stack IS NULL AND kernel_stack IS NULL, bytes DESC, user_stack,
	           kernel_stack) AS nth
	  FROM g WINDOW site AS (PARTITION BY source, kind, call_site, apart)
)
SELECT $rkeys r.source, r.kind, r.call_site,
       $full r.all_objects AS objects,
       $sampled CAST(round(r.all_objects) AS INTEGER) AS objects,
       r.all_bytes AS bytes,
       $sampled iif(r.source = 'heap', heap_error(r.all_bytes), NULL) AS error_bytes,
       r.max_ns AS oldest_ns,
       r.min_ns AS newest_ns, r.all_unsure AS unsure,
       view_complete(:from, :to, r.source) AS complete, view_lost(:from, :to, r.source) AS lost_events,
       r.user_stack, r.kernel_stack, coalesce(r.held_too, '') || r.held AS held
  FROM r WHERE r.nth = 1
 ORDER BY r.held = 'cache', CASE r.source WHEN 'heap' THEN 1 WHEN 'slab' THEN 2 ELSE 3 END, r.held = 'loader',
     r.all_bytes DESC
