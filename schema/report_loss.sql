-- view Recording 1: What was lost?
-- note: The time of a loss is known to about a second: the loss counts in the window in which that second ends, and
--   every window that overlaps this second is incomplete. LOST COUNTED counts events that a program saw and could not
--   emit, and those for which the kernel skipped a program. LOST INFERRED counts events for which no program ran,
--   such as those of a task that the kernel hides from BPF; later events show that they are missing.
-- by: cpu
-- default: cpu
-- needs: sched? alloc? block?
-- takes: every sort
--
-- The result has one row per source of each class. Columns:
--   attempted    events that the kernel offered: read + lost_counted in a whole, finished recording.
--                In a window, or if the recorder was killed, the sum may differ by the events that
--                were in the buffers when the counters were read
--   read         events that arrived
--   lost_events  lost_counted + lost_inferred
--   lost_counted   full (the ring had no room) + other (a reservation failed) + missed (the kernel
--                skipped the program)
--   lost_inferred  events that no counter includes, since a task ran that the kernel hides from BPF: later events
--                show that they are missing. They are not part of attempted
--   off_ns       time in which record --max-overhead had turned the source off; events of that time
--                are not counted
--   complete     1: no event of the source was lost, the source was on, and the window lies inside
--                the trace
-- A source has a row if a sample of its counters overlaps the window.
-- The recorder samples its counters about once a second. A sample counts in the window in which it ends, so that
-- counts of adjacent windows add up. A window is not complete if the interval of a loss overlaps it.
WITH read AS (
        SELECT class, source, sum(attempted_cnt) FILTER (WHERE to_ns <= :to) AS attempted,
               sum(read_cnt) FILTER (WHERE to_ns <= :to) AS read
	  FROM hook_stats
         WHERE from_ns < to_ns AND from_ns < :to
         AND to_ns > :from      -- a row without length is of the time outside a cut
	 GROUP BY class, source),
lost AS (
	SELECT class, source, sum(lost_cnt) AS lost, sum(full_cnt) AS full, sum(other_cnt) AS other,
	       sum(missed_cnt - inferred_cnt) AS missed, sum(inferred_cnt) AS inferred
	  FROM losses
	 WHERE from_ns < :to AND max(to_ns - 1, from_ns) >= :from AND max(to_ns - 1, from_ns) < :to
	 GROUP BY class, source),
off AS (SELECT class, source, source_off_ns(source, :from, :to) AS ns
	  FROM source_gaps WHERE from_ns < :to AND to_ns > :from GROUP BY class, source),
sources AS (SELECT class, source FROM read UNION SELECT class, source FROM lost UNION SELECT class, source FROM off)
SELECT s.class AS class, s.source AS source,
       coalesce(r.attempted, 0) + coalesce(l.missed, 0) AS attempted,
       coalesce(r.read, 0) AS read,
       coalesce(l.lost, 0) AS lost_events,
       coalesce(l.lost - l.inferred, 0) AS lost_counted, coalesce(l.inferred, 0) AS lost_inferred,
       coalesce(l.full, 0) AS full, coalesce(l.other, 0) AS other, coalesce(l.missed, 0) AS missed,
       coalesce(o.ns, 0) AS off_ns,
       is_complete(coalesce(s.source, s.class) || '?', :from, :to) AS complete
  FROM sources AS s
  LEFT JOIN read AS r ON r.class IS s.class AND r.source IS s.source
  LEFT JOIN lost AS l ON l.class IS s.class AND l.source IS s.source
  LEFT JOIN off AS o ON o.source IS s.source
 ORDER BY s.class, s.source
