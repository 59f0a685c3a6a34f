-- variant of io by file: Which files did block requests read and write?
-- note: A row in brackets has requests without a known file: [metadata] those of a file system, its
--   journal or a whole device, [no data] flushes and discards, [unknown] those whose path was not recorded.
--
-- The result has one row per file, and per process, device, operation and other keys if --by names them. Columns,
-- besides those of the keys:
--   file               path of the file (TABLES.md, block_requests); [direct I/O]: of a file that the kernel does not
--                      report; [metadata]: of a file system, its journal, or a device to which a program writes
--                      directly; [swap]; [no data]: flushes and discards; [kernel]: other memory of the kernel;
--                      [unknown]: the path was not recorded
--   the others         as in report io
SELECT $t
       $cpukeys
       count(*) AS ios, sum(u.bytes) AS bytes,
       round(count(*) * 1e9 / u.span_ns, 3) AS iops, round(sum(u.bytes) * 1e9 / u.span_ns, 3) AS bytes_per_s,
       percentile(u.latency_ns, 50) AS lat_p50_ns, percentile(u.latency_ns, 99) AS lat_p99_ns,
       max(u.latency_ns) AS lat_max_ns,
       count(*) FILTER (WHERE u.status) AS errors,
       view_unowned_ios(u.t_ns, u.t_end_ns, u.upid <> 1) AS unowned_ios,
       view_unowned_bytes(u.t_ns, u.t_end_ns, u.upid <> 1) AS unowned_bytes,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM (SELECT b.t_ns, b.t_end_ns, b.span_ns, r.bytes, r.latency_ns, r.status, r.dev,
               coalesce(r.part, r.dev) AS part, r.op, r.owner_upid AS upid,
               iif($bycomm, comm_at(r.owner_upid, r.end_ns), NULL) AS comm_then,
               iif(r.owner_upid = r.submitter_upid, thread_in_scope(r.submitter_utid, r.end_ns),
                   in_scope(r.owner_upid, r.end_ns)) AS is_in,
               coalesce(r.file, CASE r.pages WHEN 'file' THEN '[unknown]' WHEN 'disk' THEN '[metadata]' WHEN 'swap'
                   THEN '[swap]'
                                             WHEN 'none' THEN iif(r.op IN ('read', 'write') AND r.bytes > 0,
                                                                  '[unknown]', '[no data]')
                                             WHEN 'kernel' THEN '[kernel]'
                                             ELSE '[direct I/O]' END) AS file
          FROM request_parts AS r
         CROSS JOIN (SELECT DISTINCT t_ns, t_end_ns, span_ns FROM io_usage(:from, :to, :every, 'none')) AS b
            ON b.t_ns = :from + iif(:every, (r.end_ns - :from) / :every * :every, 0)
         WHERE r.end_ns >= :from AND r.end_ns < :to) AS u
  JOIN processes AS p ON p.upid = u.upid
 WHERE u.is_in
 GROUP BY $cpugroup u.t_ns
 ORDER BY u.t_ns, sum(u.bytes) DESC, count(*) DESC, u.file
