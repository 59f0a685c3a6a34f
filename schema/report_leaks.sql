-- What was allocated in the window and not freed by its end?
--
-- The result has one row per process (or thread, comm, cgroup), source, kind, call site and recorded
-- stack. Columns:
--   kind       kmem_cache, or order of the pages
--   call_site  kernel function that allocated, or (heap) function of the program, or the reason why
--              it has no name; empty for pages
--   objects, bytes        objects that still existed at the window's end, and their bytes
--   oldest_ns, newest_ns  greatest and smallest age of these objects at that instant
--   unsure     the part of objects whose free may have been missed, because the source was off for a
--              time
--   user_stack, kernel_stack  call chain, outermost function first, separated by ';'. Both are empty
--              if no stack of these objects was recorded (record --stacks)
-- The heap of a process ends with the process, so its objects are not listed after that.
WITH u AS (
	SELECT x.utid AS utid, x.upid AS upid, x.source AS source, x.cache AS cache, x.page_order AS page_order,
	       max(x.symbol) AS symbol, max(x.call_site) AS call_site, count(*) AS objects, sum(x.bytes) AS bytes,
	       min(x.alloc_ns) AS oldest_ns, max(x.alloc_ns) AS newest_ns, sum(x.unsure) AS unsure,
	       stack_text(x.stack, max(x.alloc_ns), 'user') AS user_stack,
	       stack_text(x.stack, max(x.alloc_ns), 'kernel') AS kernel_stack
	  FROM allocations AS x JOIN processes AS p ON p.upid = x.upid
	 WHERE x.alloc_ns >= :from AND x.alloc_ns < :to AND (x.free_ns IS NULL OR x.free_ns >= :to) AND in_scope(x.upid)
	   AND (x.source <> 'heap' OR p.end_ns IS NULL OR p.end_ns >= :to)
	 GROUP BY x.utid, x.source, x.cache, x.page_order, coalesce(x.symbol, x.call_site), x.stack
)
SELECT $cpukeys u.source AS source, coalesce(u.cache, 'order ' || u.page_order, '') AS kind,
       coalesce(u.symbol, CASE WHEN u.call_site IS NOT NULL THEN printf('0x%x', u.call_site) END, '') AS call_site,
       sum(u.objects) AS objects, sum(u.bytes) AS bytes, :to - min(u.oldest_ns) AS oldest_ns,
       :to - max(u.newest_ns) AS newest_ns, sum(u.unsure) AS unsure,
       is_complete('alloc.' || u.source, :from, :to) AND is_covered(0, :to) AS complete, lost_events('alloc', :from, :to) AS lost_events,
       u.user_stack AS user_stack, u.kernel_stack AS kernel_stack
  FROM u JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
 GROUP BY $cpugroup, u.source, u.cache, u.page_order, coalesce(u.symbol, u.call_site), u.user_stack, u.kernel_stack
 ORDER BY bytes DESC
