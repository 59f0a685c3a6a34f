-- view of alloc 2: How long did allocations live, and which were short-lived?
-- note: TEMPORARY counts allocations that were freed within 1 ms, FREED all that were freed by the window's end.
--   Sources overlap, so do not add them up.
-- by: who
-- needs: alloc
-- reach: before state
-- index: objects
-- takes: who threads lines sort
-- drops: life_max_ns freed temporary_bytes life_avg_ns temporary_pct bytes
--
-- The result has one row per process (or thread, comm, cgroup), source, kind and call site of the
-- allocations in the window. Columns:
--   kind, call_site    kmem_cache or order of the pages; function that allocated, as in leaks
--   allocs, bytes      allocations in the window, and their bytes
--   error_bytes        record --heap=SIZE: upper bound of the error of bytes in nine of ten cases (heap_error())
--   freed              the part of allocs that was freed by the window's end
--   temporary, ..      the part of freed that lived less than 1 ms: number, share of allocs, and bytes
--   life_avg_ns, ..    lifetimes of the freed allocations
SELECT $cpukeys u.source AS source, coalesce(u.cache, 'order ' || u.page_order, '') AS kind,
       coalesce(code_text(u.symbol, u.call_site), '') AS call_site,
       sum(u.allocs) AS allocs, sum(u.bytes) AS bytes,
       $sampled iif(u.source = 'heap', heap_error(sum(u.bytes)), NULL) AS error_bytes,
       sum(u.freed) AS freed, sum(u.temporary) AS temporary,
       round(100.0 * sum(u.temporary) / sum(u.allocs), 1) AS temporary_pct, sum(u.temporary_bytes) AS temporary_bytes,
       CAST(sum(u.life_sum_ns) / nullif(sum(u.freed), 0) AS INTEGER) AS life_avg_ns, max(u.life_max_ns) AS life_max_ns,
       view_complete(:from, :to, u.source) AS complete, view_lost(:from, :to, u.source) AS lost_events
  FROM lifetime_usage(:from, :to, :by) AS u
  JOIN processes AS p ON p.upid = u.member_upid LEFT JOIN threads AS t ON t.utid = u.utid
 GROUP BY $cpugroup u.source, u.cache, u.page_order, coalesce(u.symbol, u.call_site)
 ORDER BY temporary_bytes DESC, bytes DESC
