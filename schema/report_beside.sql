-- view of latency 2: Who else used the disk, and how long did requests take?
-- note: Each row is a process name with requests on a device while requests of the report's processes were in flight
--   there. Columns WITH cover those of the report's requests that overlapped a request of this name; columns WITHOUT
--   cover all others. A higher latency in WITH does not prove that the name is the cause.
-- nobody: This compares the requests of some processes with those of others; give --workload, --pid,
--   --comm, --tid or --thread.
-- needs: block
-- reach: before state
-- takes: every who threads sort
-- figure: with_p50_ns
-- drops: lost_events without_p99_ns ios
--
-- The result has one row per device and name of others, for the 20 names with the most bytes. Columns:
--   beside          name of the other processes that own requests on the device ([unknown]: no known owner); for
--                   the report's own processes, with --tid and --thread, the name of the other thread that queued them
--   ios, bytes      number and bytes of those of its requests that ended in the window
--   with_ios        requests of the report's processes that ended in the window, and during which, from queueing to
--                   completion, a request of the other name was queued or served; without_ios: the rest
--   with_p50_ns ..  their latencies: median and 99th percentile
-- With --every, a request counts in the bin in which it ended, and a name has a row in each bin with requests of its
-- own. Requests of others that ended more than a second after the window are ignored.
WITH own AS MATERIALIZED (SELECT DISTINCT upid FROM threads WHERE thread_in_scope(utid)),
q AS MATERIALIZED (
        SELECT b.dev AS dev, b.end_ns AS end_ns, b.latency_ns AS latency_ns, coalesce(b.queued_ns, :from) AS start_ns,
               b.bytes AS bytes,
	       coalesce(iif(b.owner_upid IN own, t.comm, p.comm), '[unknown]') AS comm,
	       iif(b.owner_upid = b.submitter_upid, thread_in_scope(b.submitter_utid, b.end_ns),
	           in_scope(b.owner_upid, b.end_ns)) AS mine
          FROM block_requests AS b LEFT JOIN processes AS p ON p.upid = b.owner_upid
          LEFT JOIN threads AS t ON t.utid = b.submitter_utid
	 WHERE b.end_ns >= :from AND b.end_ns < :to + 1000000000),
mine AS MATERIALIZED (SELECT * FROM q WHERE mine AND end_ns < :to AND latency_ns NOT NULL),
other AS MATERIALIZED (
	SELECT dev, comm FROM q WHERE NOT mine AND dev IN (SELECT dev FROM mine)
	 GROUP BY dev, comm ORDER BY sum(bytes) DESC, count(*) DESC, dev, comm LIMIT 20),
-- the requests by their end, once for each other name; and those of the others by their beginning
s AS (SELECT m.dev AS dev, o.comm AS comm, m.end_ns AS at_ns, m.end_ns AS end_ns, m.start_ns AS start_ns,
             m.latency_ns AS latency_ns, NULL AS other_end_ns, NULL AS bytes
        FROM mine AS m JOIN other AS o ON o.dev = m.dev
      UNION ALL
      SELECT q.dev, q.comm, q.start_ns, q.end_ns, NULL, NULL, q.end_ns, q.bytes FROM q
        JOIN other AS o ON o.dev = q.dev AND o.comm = q.comm WHERE NOT q.mine),
-- of the others that had begun by then, one ended behind the beginning
f AS (SELECT dev, comm, end_ns, latency_ns, bytes,
             max(other_end_ns) OVER (PARTITION BY dev, comm
                                     ORDER BY at_ns, latency_ns IS NULL ROWS UNBOUNDED PRECEDING) > start_ns AS beside
        FROM s),
r AS (SELECT :from + coalesce((end_ns - :from) / nullif(:every, 0) * :every, 0) AS t_ns, dev, comm,
             count(bytes) AS ios, coalesce(sum(bytes), 0) AS bytes, count(latency_ns) FILTER (WHERE beside) AS with_ios,
             percentile(latency_ns, 50) FILTER (WHERE beside AND latency_ns NOT NULL) AS with_p50_ns,
             percentile(latency_ns, 99) FILTER (WHERE beside AND latency_ns NOT NULL) AS with_p99_ns,
             count(latency_ns) FILTER (WHERE beside IS NOT 1) AS without_ios,
             percentile(latency_ns, 50) FILTER (WHERE beside IS NOT 1 AND latency_ns NOT NULL) AS without_p50_ns,
             percentile(latency_ns, 99) FILTER (WHERE beside IS NOT 1 AND latency_ns NOT NULL) AS without_p99_ns
        FROM f WHERE end_ns < :to GROUP BY 1, dev, comm)
SELECT $tgroup
       device_name(dev) AS device, comm AS beside, ios, bytes, with_ios, with_p50_ns, with_p99_ns, without_ios,
       without_p50_ns, without_p99_ns,
       view_complete($binfrom, $binto) AS complete, view_lost($binfrom, $binto) AS lost_events
  FROM r WHERE with_ios > 0 OR (:every > 0 AND ios > 0)
 ORDER BY t_ns, bytes DESC, with_ios DESC, device, comm
