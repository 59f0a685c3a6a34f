-- view of alloc 3: From which stacks was memory allocated?
-- note: Only allocations whose stack was recorded count, so the bytes are not totals. User-space frames come from
--   frame pointers: in code without them, such as most C libraries, a stack ends early or lacks callers. Sources
--   overlap, so do not add them up.
-- without stacks.min_bytes stacks.every: No stacks were recorded; `ebpfrec record --stacks --
--   COMMAND` records some.
-- by: who function module
-- default: function
-- needs: alloc
-- takes: who threads lines sort stacks
--
-- The result has one row per source and stack (by module: of files), and per process (or thread, comm, cgroup) if
-- --by names such a key. It covers the allocations whose stacks were recorded (record --stacks). Columns:
--   pid, comm        if --by names no task key: those of the processes, if all have the same
--   samples, bytes   such allocations, and their bytes; record --heap=SIZE: those that they stand for
--   error_bytes      record --heap=SIZE: upper bound of the error of bytes in nine of ten cases (heap_error())
--   stack            frames, outermost function first, separated by ';': user space, then the kernel
-- The view excludes memory that interrupts allocated, because no process owns it.
SELECT $cpukeys u.source AS source, sum(u.samples) AS samples, sum(u.bytes) AS bytes,
       $sampled iif(u.source = 'heap', heap_error(sum(u.bytes)), NULL) AS error_bytes,
       u.text AS stack,
       view_complete(:from, :to, u.source) AS complete, view_lost(:from, :to, u.source) AS lost_events
  FROM (SELECT x.*, t.upid AS upid, $stack_text(x.stack, x.last_ns) AS text
          FROM (SELECT utid, source, stack, count(*) AS samples,
                       $full sum(bytes) AS bytes,
                       $sampled sum(iif(source = 'heap', heap_bytes(bytes), bytes)) AS bytes,
                       max(ts_ns) AS last_ns,
                       iif($bycomm, comm_at((SELECT upid FROM threads AS n WHERE n.utid = e.utid), e.ts_ns),
                           NULL) AS comm_then,
                       iif($bythreadname, thread_comm_at(e.utid, e.ts_ns), NULL) AS thread_name_then
                  FROM stack_samples AS e WHERE ts_ns >= :from AND ts_ns < :to AND NOT irq AND thread_in_scope(e.utid,
                      e.ts_ns)
                 GROUP BY utid, source, stack, comm_then, thread_name_then) AS x
          JOIN threads AS t ON t.utid = x.utid) AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = u.upid
 GROUP BY $cpugroup u.source, u.text
 ORDER BY sum(u.bytes) DESC, u.text
