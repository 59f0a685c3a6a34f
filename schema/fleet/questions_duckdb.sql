-- SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
--
-- Ten questions to recordings of many hosts, for DuckDB 1.0 and later. `ebpfrec export --to parquet -o HOST` makes a
-- directory for each host. Run DuckDB in the directory that contains these directories. Each query runs unchanged;
-- adapt names, sizes and limits. utid and upid are unique only within a recording, so join them together with trace_id.
-- A utid or upid below 16 is not a task (1: unknown). Instants are in UTC. If a query compares instants, DuckDB reads
-- only the parts of files that may contain matching rows. tests/engines/check.py runs all queries.

-- 1. Which programs use the fleet's CPUs?
SELECT comm, count(DISTINCT s.host) AS hosts, sum(dur_ns)::BIGINT AS running_ns
  FROM read_parquet('*/sched_slices/*.parquet') AS s
  JOIN read_parquet('*/threads/*.parquet') AS t USING (trace_id, utid)
 WHERE utid >= 16 GROUP BY comm ORDER BY running_ns DESC, comm LIMIT 20;

-- 2. Which devices are slowest?
SELECT r.host, d.name AS device, op, count(*) AS requests, quantile_disc(latency_ns, 0.99) AS p99_ns,
       max(latency_ns) AS max_ns
  FROM read_parquet('*/block_requests/*.parquet') AS r
  JOIN read_parquet('*/devices/*.parquet') AS d USING (trace_id, dev)
 WHERE end_ns IS NOT NULL GROUP BY ALL ORDER BY p99_ns DESC, max_ns DESC LIMIT 20;

-- 3. How many CPUs did each host use in each second? A stay on a CPU counts in the second in which it begins.
SELECT host, epoch_ns(start_ns) // 1000000000 AS unix_s, sum(dur_ns) / 1e9 AS cpus
  FROM read_parquet('*/sched_slices/*.parquet') WHERE utid >= 16 GROUP BY host, unix_s ORDER BY unix_s, host;

-- 4. Which programs are noisy neighbours? They ran in the seconds with the longest waits for a CPU on their host.
WITH slices AS (SELECT host, trace_id, utid, epoch_ns(start_ns) // 1000000000 AS unix_s, dur_ns, wait_ns
                  FROM read_parquet('*/sched_slices/*.parquet')),
     worst AS (SELECT host, unix_s, sum(wait_ns) AS waited_ns FROM slices GROUP BY host, unix_s ORDER BY waited_ns DESC
                 LIMIT 10)
SELECT slices.host, unix_s, comm, sum(dur_ns)::BIGINT AS running_ns
  FROM slices JOIN worst USING (host, unix_s) JOIN read_parquet('*/threads/*.parquet') AS t USING (trace_id, utid)
 WHERE utid >= 16 GROUP BY ALL ORDER BY running_ns DESC LIMIT 20;

-- 5. Which waits for a CPU were the longest, and whose were they?
SELECT s.host, comm, tid, cpu, s.start_ns, wait_ns, wait_reason
  FROM read_parquet('*/sched_slices/*.parquet') AS s
  JOIN read_parquet('*/threads/*.parquet') AS t USING (trace_id, utid)
 WHERE utid >= 16 AND wait_ns > 0 ORDER BY wait_ns DESC LIMIT 20;

-- 6. On which hosts are figures incomplete?
SELECT host, class, sum(lost_cnt)::BIGINT AS lost, min(from_ns) AS first, max(to_ns) AS last
  FROM read_parquet('*/losses/*.parquet') GROUP BY host, class ORDER BY lost DESC;

-- 7. Which processes had the most resident memory of a kind?
SELECT r.host, comm, pid, member, max(bytes) AS peak_bytes
  FROM read_parquet('*/rss_points/*.parquet') AS r
  JOIN read_parquet('*/processes/*.parquet') AS p USING (trace_id, upid)
 WHERE upid >= 16 GROUP BY ALL ORDER BY peak_bytes DESC LIMIT 20;

-- 8. Who writes most to disks?
SELECT r.host, owner, d.name AS device, count(*) AS requests, sum(bytes)::BIGINT AS bytes
  FROM read_parquet('*/block_requests/*.parquet') AS r
  JOIN read_parquet('*/devices/*.parquet') AS d USING (trace_id, dev)
 WHERE op = 'write' AND end_ns IS NOT NULL GROUP BY ALL ORDER BY bytes DESC LIMIT 20;

-- 9. Which code of the kernel allocates most, and how much of it lives for a second or longer?
SELECT symbol, count(DISTINCT host) AS hosts, count(*) AS allocs, sum(bytes)::BIGINT AS bytes,
       (sum(bytes) FILTER (life_ns >= 1000000000))::BIGINT AS long_lived_bytes
  FROM read_parquet('*/allocations/*.parquet') WHERE source = 'slab' GROUP BY symbol ORDER BY bytes DESC LIMIT 20;

-- 10. Which block requests were slowest, and whose were they?
SELECT host, complete_ns, owner, op, bytes, latency_ns, queue_ns
  FROM read_parquet('*/block_requests/*.parquet') WHERE latency_ns > 0 ORDER BY latency_ns DESC LIMIT 10;
