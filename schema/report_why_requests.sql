-- variant of why requests: What did the slow requests do that the others did not?
-- note: Slow requests are at least as long as the 99th percentile, or as the limit of --slow. SLOW and OTHERS are
--   means per request; the difference is DIFF plus or minus ERROR in 95 of 100 cases.
--
-- With --requests the result has three sections about the requests of this name that ended in the window:
--   In short      how the slow ones differ from the others, the largest difference first: up to three sentences
--   What differs  a row per kind of activity: running, a kind of wait, queued (no thread worked for it), unknown. The
--                 rows of slow_ns add up to the mean length of the slow requests, and so do those of others_ns
--   Slowest       the three slowest requests, and the largest parts of their time

-- section: In short
SELECT answer FROM slow_requests(:from, :to, :requests, :slow_pct, :slow_ns) WHERE answer NOTNULL
UNION ALL
SELECT 'No request ' || :requests || ' ended in this window'
       || iif(count(*), '; open at its end: ' || count(*), '')
  FROM requests(:from, :to) WHERE name GLOB :requests AND thread_in_scope(utid, start_ns)
 HAVING count(end_ns) = 0

-- section: ?What differs
SELECT kind, object, slow_ns, others_ns, diff_ns, error_ns
  FROM slow_requests(:from, :to, :requests, :slow_pct, :slow_ns)

-- section: ?Slowest
SELECT name, id, thread, start_ns, dur_ns, breakdown FROM ($slowest)
