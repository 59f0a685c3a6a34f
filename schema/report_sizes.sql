-- view of alloc 1: How large were allocations?
-- note: Each row has the allocations with sizes from one power of two (included) to the next (excluded). Sources
--   overlap, so do not add them up.
-- by: who
-- needs: alloc
-- takes: every who threads sort
-- figure: bytes
--
-- The result has one row per process (or thread, comm, cgroup), source and power of two. Columns:
--   size_from_bytes, size_to_bytes  range of sizes; the upper bound is excluded
--   allocs, bytes                   number of allocations, and sum of their bytes
--   error_bytes                     record --heap=SIZE: upper bound of the error of bytes in nine of ten cases
--                                   (heap_error())
-- Memory that interrupts allocated counts for [irq].
SELECT r.*, view_complete($binfrom, $binto, r.source) AS complete, view_lost($binfrom, $binto, r.source) AS lost_events
  FROM (SELECT $t_spike $cpukeys
               u.source AS source, size_class(u.size) AS size_from_bytes,
               max(2 * size_class(u.size), 1) AS size_to_bytes,
               $full count(*) AS allocs, sum(u.size) AS bytes
               $sampled CAST(round(sum(iif(u.source = 'heap', heap_weight(u.size), 1))) AS INTEGER) AS allocs,
               $sampled sum(iif(u.source = 'heap', heap_bytes(u.size), u.size)) AS bytes,
               $sampled iif(u.source = 'heap', heap_error(sum(heap_bytes(u.size))), NULL) AS error_bytes
          FROM (SELECT x.*, t.upid AS upid,
                       iif($bycomm, comm_at(t.upid, x.start_ns), NULL) AS comm_then,
                       iif($bythreadname, thread_comm_at(x.utid, x.start_ns), NULL) AS thread_name_then
                  FROM (SELECT ts_ns AS start_ns, CASE WHEN irq THEN 2 ELSE utid END AS utid, 'slab' AS source,
                               bytes AS size FROM slab_allocs
                         WHERE ts_ns >= :from AND ts_ns < :to
                        UNION ALL SELECT ts_ns, CASE WHEN irq THEN 2 ELSE utid END, 'page', page_bytes() << page_order
                        FROM page_allocs
                         WHERE ts_ns >= :from AND ts_ns < :to
                        UNION ALL SELECT ts_ns, utid, 'heap', bytes FROM heap_allocs
                         WHERE ts_ns >= :from AND ts_ns < :to) AS x
                  JOIN threads AS t ON t.utid = x.utid) AS u
          JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = u.upid
         WHERE thread_in_scope(u.utid, u.start_ns)
         GROUP BY $tgroup $cpugroup u.source, size_class(u.size)) AS r
 ORDER BY $tgroup sum(r.bytes) OVER (PARTITION BY $tgroup $rkeys 1) DESC, $rkeys r.source, r.size_from_bytes
