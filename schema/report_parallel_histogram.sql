-- variant of parallel histogram: How many CPUs were busy at once?
-- note: Each row is a number of CPUs, and the time in which exactly this number was busy at once.
--
-- The result has one row per number of CPUs, from the least to the most that were busy. Columns:
--   busy        number of CPUs that ran threads of the report's processes
--   wall_ns     time with this number
--   wall_pct    wall_ns / window * 100
--   oncpu_ns    time on CPUs during wall_ns: busy * wall_ns
-- A CPU is not busy while it is idle. With --pid or --comm, only CPUs that ran these processes are busy.
WITH RECURSIVE
     u AS MATERIALIZED (SELECT t_ns, t_end_ns, span_ns, busy, sum(oncpu_ns) AS oncpu_ns
                          FROM parallel_usage(:from, :to, :every, 'none') GROUP BY t_ns, busy),
     b AS MATERIALIZED (SELECT DISTINCT t_ns, t_end_ns, span_ns FROM cpu_usage(:from, :to, :every)),
     steps AS MATERIALIZED (
        SELECT t_ns, t_end_ns, span_ns, busy, oncpu_ns / busy AS wall_ns, oncpu_ns FROM u WHERE oncpu_ns >= busy
         UNION ALL
        SELECT * FROM (SELECT b.t_ns, b.t_end_ns, b.span_ns, 0,
                              b.span_ns - coalesce((SELECT sum(u.oncpu_ns / u.busy) FROM u WHERE u.t_ns = b.t_ns),
                                  0) AS wall_ns, 0
                         FROM b) WHERE wall_ns > 0),
     each (t_ns, t_end_ns, span_ns, busy, last) AS (
        SELECT t_ns, t_end_ns, span_ns, min(busy), max(busy) FROM steps GROUP BY t_ns
         UNION ALL
        SELECT t_ns, t_end_ns, span_ns, busy + 1, last FROM each WHERE busy < last)
SELECT $t
       u.busy AS busy, coalesce(s.wall_ns, 0) AS wall_ns,
           round(100.0 * coalesce(s.wall_ns, 0) / u.span_ns, 3) AS wall_pct,
       coalesce(s.oncpu_ns, 0) AS oncpu_ns,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM each AS u LEFT JOIN steps AS s ON s.t_ns = u.t_ns AND s.busy = u.busy
 ORDER BY u.t_ns, u.busy
