-- view Memory 5: Which processes allocated much in a short time?
-- note: A spike is memory that a process allocated within 100 ms (or --spike-window) and that reaches the threshold,
--   16 MiB (or --spike-min). Without --spike-min, a process that is older than two seconds also has to reach ten
--   times its own median rate before. A row without a PID covers all processes with that name, the group that --by
--   selects, or the machine ([all]), if no single process has half of the bytes. Pages that a fork shares with its
--   parent are inherited, not allocated. Bursts without a pause longer than the spike window are one spike, and so is
--   a burst that several sources show.
-- cut: Cut out of a larger trace: median rates exclude the time before and after the cut, and a burst at its edge is
--   cut off, too.
-- by: process comm cgroup container unit user tree
-- needs: alloc
-- reach: before state after
-- index: levels rates
-- takes: every who lines sort spikes
-- drops: end_ns threshold_bytes baseline_bytes stack_bytes bytes_per_s cause
--
-- The result has one row per spike. A spike is a burst in which a process, all processes of a name, or all processes
-- of the machine allocate (rss, page: grow by) at least the threshold within the spike window (--spike-window, 100
-- ms). The threshold is --spike-min; without this option it is 16 MiB, and from the 20th window of a life on at least
-- ten times the median per window so far, without the burst itself (computed again each time that the age doubles).
-- The search examines each event. Bursts that follow each other without a pause longer than the spike window form one
-- spike. Columns:
--   comm               name of the process in the middle of the burst, since an exec may begin the burst; last name
--                      of the processes, or their group of --by; [all]: all processes
--   source             source of the bytes
--   also               other sources that show the same burst
--   start_ns, dur_ns   first event of the burst, and time from there to the last event
--   bytes              slab, heap: bytes allocated in between, without subtracting frees; rss, page: the
--                      most that the level rose in between
--   error_bytes        record --heap=SIZE: upper bound of the error of bytes in nine of ten cases (heap_error())
--   bytes_per_s        bytes / dur_ns; empty if the burst is a single event
--   baseline_bytes     level just before the burst (rss: all resident memory; others: allocated
--                      since the trace's start)
--   threshold_bytes    threshold that the burst reached
--   cause              origin of most bytes. slab, heap: kmem_cache and call site (heap: function of
--                      the program); rss: the counter with the largest growth, and the most frequent
--                      order of the pages that the process allocated during the burst; page: how many files the
--                      process dirtied during the burst, and the one with most, or the possible kinds of such
--                      pages; several processes: their number
--   user_stack, kernel_stack  call chain (outermost function first, separated by ';') of most bytes,
--                      among allocations whose stacks were recorded (record --stacks); rss: of the
--                      process's pages
--   stack_bytes        bytes allocated with that stack; empty if the burst has no recorded stack
-- If five or more processes of one name have one burst each, a table without --limit and --wide has only the largest
-- burst, with the number of the others in its cause.
-- Sources: rss, slab, heap, page. memory_spikes() merges bursts; the cause and the stack of a burst of rss that heap
-- shows, too, are those of heap. Pages alone are page cache, tmpfs, or copies of shared pages after a fork. The view
-- leaves out vm, because mapped memory may be unused. Levels of several processes count shared pages for each.
WITH found AS MATERIALIZED (
	SELECT f.*, CASE WHEN f.also GLOB '*heap*' THEN 'heap' WHEN f.source = 'rss' THEN 'page' ELSE f.source END
	       AS stacks_of, (SELECT p.comm FROM processes AS p WHERE p.upid = f.upid) AS program,
	       count(*) OVER (PARTITION BY f.upid, f.name, f.source) = 1 AS is_single
	  FROM memory_spikes(:from, :to, :spike_window, :spike_min, :by) AS f
),
-- of many processes with one name and one burst each, a table has the largest
sp AS MATERIALIZED (
	SELECT * FROM (SELECT *, iif(:merge_alike AND upid AND is_single, count(*) OVER w, 1) AS alike,
	                      row_number() OVER (w ORDER BY bytes DESC, start_ns) AS nth
	                 FROM found WINDOW w AS (PARTITION BY upid IS NULL, program, source, is_single))
	 WHERE alike < 5 OR nth = 1
),
by_number AS (
	SELECT sp.upid AS upid, sp.source AS source, sp.start_ns AS start_ns, x.stack AS stack,
	       $full sum(x.bytes) AS bytes,
	       $sampled sum(iif(x.source = 'heap', heap_bytes(x.bytes), x.bytes)) AS bytes,
	       max(x.ts_ns) AS last_ns
	  FROM sp CROSS JOIN stack_samples AS x CROSS JOIN threads AS t
	 WHERE sp.upid NOT NULL AND x.ts_ns >= sp.start_ns AND x.ts_ns <= sp.end_ns AND t.utid = x.utid AND t.upid = sp.upid
	   AND x.source = sp.stacks_of AND NOT x.irq
	 GROUP BY sp.upid, sp.source, sp.start_ns, x.stack
),
by_text AS (
	SELECT upid, source, start_ns, stack_text(stack, last_ns, 'user') AS user_stack,
	       stack_text(stack, last_ns, 'kernel') AS kernel_stack, sum(bytes) AS bytes
	  FROM by_number GROUP BY upid, source, start_ns, user_stack, kernel_stack
),
top AS (
	SELECT *, row_number() OVER (PARTITION BY upid, source, start_ns
	                             ORDER BY bytes DESC, user_stack, kernel_stack) AS place FROM by_text
)
SELECT $t_spike
       p.pid AS pid, CASE u.kind WHEN 'process' THEN comm_at(u.upid, (u.start_ns + u.end_ns) / 2)
       WHEN 'group' THEN u.name ELSE '[all]' END AS comm, u.source AS source,
       u.also AS also,
       u.start_ns AS start_ns, u.dur_ns AS dur_ns, u.bytes AS bytes,
       $sampled iif(u.source = 'heap', heap_error(u.bytes), NULL) AS error_bytes,
       u.bytes_per_s AS bytes_per_s,
       u.baseline_bytes AS baseline_bytes, u.end_ns AS end_ns, u.threshold_bytes AS threshold_bytes,
       CASE CASE WHEN u.upid IS NULL THEN 'several' WHEN u.also GLOB '*heap*' THEN 'heap' ELSE u.source END
       WHEN 'several' THEN (SELECT format('%d processes', count(DISTINCT x.upid)) FROM rss_points AS x
                             WHERE x.ts_ns >= u.start_ns AND x.ts_ns <= u.end_ns AND in_scope(x.upid)
                               AND (u.kind = 'machine' OR u.name =
                                    task_key(coalesce(nullif(:by, 'process'), 'comm'), x.upid)))
       WHEN 'page' THEN coalesce((SELECT iif(count(*) OVER () > 1, format('%d files, such as ', count(*) OVER ()), '')
                              || file_name(x.ino_dev, x.ino)
                           FROM dirty_events AS x CROSS JOIN threads AS t ON t.utid = x.utid
                          WHERE x.ts_ns >= u.start_ns AND x.ts_ns <= u.end_ns AND t.upid = u.upid
                          GROUP BY x.ino_dev, x.ino ORDER BY count(*) DESC, x.ino_dev, x.ino LIMIT 1),
                         'page cache, tmpfs or copies of shared pages')
       WHEN 'slab' THEN (SELECT coalesce(cache_name(x.cache), 'kmalloc') || ' at '
                           || code_text(symbol(x.call_site), x.call_site)
                           FROM slab_allocs AS x JOIN threads AS t ON t.utid = x.utid
                          WHERE x.ts_ns >= u.start_ns AND x.ts_ns <= u.end_ns AND t.upid = u.upid AND NOT x.irq
                          GROUP BY x.cache, x.call_site ORDER BY sum(x.bytes) DESC LIMIT 1)
       WHEN 'heap' THEN (SELECT code_text(user_symbol(u.upid, x.call_site, max(x.ts_ns)), x.call_site)
                           FROM heap_allocs AS x JOIN threads AS t ON t.utid = x.utid
                          WHERE x.ts_ns >= u.start_ns AND x.ts_ns <= u.end_ns AND t.upid = u.upid
                          GROUP BY x.call_site ORDER BY sum(heap_bytes(x.bytes)) DESC LIMIT 1)
       ELSE (SELECT iif(m.member = 'file', 'mapped files', m.member || coalesce((SELECT ', pages of order ' ||
                        x.page_order FROM page_allocs AS x JOIN threads AS t ON t.utid = x.utid
                         WHERE x.ts_ns >= u.start_ns AND x.ts_ns <= u.end_ns AND t.upid = u.upid AND NOT x.irq
                         GROUP BY x.page_order ORDER BY count(*) << x.page_order DESC LIMIT 1), ''))
               FROM (SELECT x.member FROM rss_points AS x
                      WHERE x.ts_ns >= u.start_ns AND x.ts_ns <= u.end_ns AND x.upid = u.upid AND x.member <> 'swap'
                      GROUP BY x.member ORDER BY max(x.bytes) - min(x.bytes) DESC LIMIT 1) AS m)
       END || iif(u.alike < 5, '', format(', and %d other processes (--limit 0)', u.alike - 1)) AS cause,
       view_complete(u.start_ns, u.end_ns + 1, u.source) AS complete,
       view_lost(u.start_ns, u.end_ns + 1, u.source) AS lost_events,
       k.user_stack AS user_stack, k.kernel_stack AS kernel_stack, k.bytes AS stack_bytes
  FROM sp AS u
  LEFT JOIN top AS k ON k.upid = u.upid AND k.source = u.source AND k.start_ns = u.start_ns AND k.place = 1
  LEFT JOIN processes AS p ON p.upid = u.upid
 ORDER BY u.bytes DESC, u.start_ns
