-- What was allocated in the window and not freed by its end?
--
-- One row per process (or thread, comm, cgroup), source, kind and place. Columns:
--   kind       kmem_cache, or order of the pages
--   call_site  function that asked, kernel's or (heap) program's, or why it has no name; empty for pages
--   objects, bytes        that were still there at the window's end
--   oldest_ns, newest_ns  their ages at that instant
--   unsure     of objects, those whose free could have been missed: their source was off for a time
-- What an ended process had on its heap is gone with it and not listed.
SELECT $cpukeys u.source AS source, coalesce(u.cache, 'order ' || u.page_order, '') AS kind,
       coalesce(u.symbol, CASE WHEN u.call_site IS NOT NULL THEN printf('0x%x', u.call_site) END, '') AS call_site,
       count(*) AS objects, sum(u.bytes) AS bytes, :to - min(u.alloc_ns) AS oldest_ns, :to - max(u.alloc_ns) AS newest_ns,
       sum(u.unsure) AS unsure,
       is_complete('alloc.' || u.source, :from, :to) AS complete, lost_events('alloc', :from, :to) AS lost_events
  FROM allocations AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = t.upid
 WHERE u.alloc_ns >= :from AND u.alloc_ns < :to AND (u.free_ns IS NULL OR u.free_ns >= :to) AND in_scope(u.upid)
   AND (u.source <> 'heap' OR p.end_ns IS NULL OR p.end_ns >= :to)
 GROUP BY $cpugroup, u.source, u.cache, u.page_order, coalesce(u.symbol, u.call_site)
 ORDER BY bytes DESC
