-- What was lost?
--
-- One row per source of each class. Columns:
--   attempted    events the kernel had for us: read + lost in a whole, finished recording; in a window, or where the
--                recorder was killed, less or more by what was on its way when the counters were read at the ends
--   read         events that arrived
--   lost_events  full (the ring had no room) + other (a reservation failed) + missed (the kernel skipped the
--                program; of block requests also ends that must have been, and that no program was run for)
--   off_ns       time in which the source was off on purpose (record --max-overhead); what happened then is not counted
--   complete     1: nothing of the source was lost, it was not off, and the window is inside the trace
-- Counters are sampled about once a second: a sample counts when it touches the window.
WITH read AS (
	SELECT class, source, sum(attempted_cnt) AS attempted, sum(read_cnt) AS read
	  FROM hook_stats
	 WHERE from_ns < :to AND to_ns > :from
	 GROUP BY class, source),
lost AS (
	SELECT class, source, sum(lost_cnt) AS lost, sum(full_cnt) AS full, sum(other_cnt) AS other,
	       sum(missed_cnt) AS missed
	  FROM losses
	 WHERE from_ns < :to AND max(to_ns, from_ns + 1) > :from
	 GROUP BY class, source),
off AS (SELECT class, source, source_off_ns(source, :from, :to) AS ns
	  FROM source_gaps WHERE from_ns < :to AND to_ns > :from GROUP BY class, source),
sources AS (SELECT class, source FROM read UNION SELECT class, source FROM lost UNION SELECT class, source FROM off)
SELECT s.class AS class, s.source AS source,
       coalesce(r.attempted, 0) + coalesce(l.missed, 0) AS attempted,
       coalesce(r.read, 0) AS read,
       coalesce(l.lost, 0) AS lost_events,
       coalesce(l.full, 0) AS full, coalesce(l.other, 0) AS other, coalesce(l.missed, 0) AS missed,
       coalesce(o.ns, 0) AS off_ns,
       coalesce(l.lost, 0) = 0 AND coalesce(o.ns, 0) = 0 AND is_covered(:from, :to) AS complete
  FROM sources AS s
  LEFT JOIN read AS r ON r.class IS s.class AND r.source IS s.source
  LEFT JOIN lost AS l ON l.class IS s.class AND l.source IS s.source
  LEFT JOIN off AS o ON o.source IS s.source
 ORDER BY s.class, s.source
