-- SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
--
-- Ten questions to a fleet, for ClickHouse 18.16 and later. Each query runs unchanged; adapt yesterday(), sizes, names
-- and instants. comm_bins has the bins that every host sends all the time (export --every); the other tables have
-- recordings. With GLOBAL, a subquery runs on all servers, too.
-- tests/full/fleet.sh compares the answers with those of `ebpfrec report` and `ebpfrec sql` for each host.

-- 1. Which hosts had a spike above 2 GiB since yesterday? spikes: number of spikes in the bins with such a spike,
-- including smaller ones.
SELECT host, name, sum(spikes) AS spikes, max(spike_max_bytes) AS bytes
  FROM comm_bins WHERE toDate(toDateTime(intDiv(unix_ns, 1000000000)), 'UTC') >= yesterday()
      AND spike_max_bytes > 2147483648
 GROUP BY host, name ORDER BY bytes DESC;

-- 2. Which devices are slowest? p99_from_ns: largest power of two that is at most the 99th percentile of latency.
SELECT host, device, op, sum(ios) AS requests, quantileExactWeighted(0.99)(assumeNotNull(lat_low_ns),
    toUInt64(assumeNotNull(lat_ios))) AS p99_from_ns,
       max(greatest_ns) AS lat_max_ns
  FROM (SELECT host, device, op, ifNull(ios, 0) AS ios, ifNull(lat_low_ns, 0) AS lat_low_ns,
      ifNull(lat_ios, 0) AS lat_ios,
               ifNull(comm_bins.lat_max_ns, 0) AS greatest_ns
          FROM comm_bins WHERE toDate(toDateTime(intDiv(unix_ns, 1000000000)), 'UTC') >= yesterday() AND device != '')
 GROUP BY host, device, op ORDER BY p99_from_ns DESC, lat_max_ns DESC LIMIT 20;

-- 3. How many CPUs did a host of a role use before and after a roll-out?
SELECT unix_ns >= 1800000000000000000 AS after, uniq(host) AS hosts,
    sum(running_ns) / sum(if(cpus > 0, bin_ns, 0)) AS cpus_used
  FROM comm_bins WHERE host GLOBAL IN (SELECT host FROM loads WHERE role = 'web') GROUP BY after ORDER BY after;

-- 4. Which programs are noisy neighbours? They ran in bins whose sum of waits for a CPU exceeds the sum of CPU time.
SELECT host, name, sum(running_ns) AS running_ns
  FROM comm_bins WHERE (host, unix_ns) GLOBAL IN (
       SELECT host, unix_ns FROM comm_bins GROUP BY host, unix_ns
           HAVING sum(runnable_ns) + sum(preempted_ns) > sum(running_ns))
 GROUP BY host, name HAVING running_ns > 0 ORDER BY running_ns DESC LIMIT 20;

-- 5. Which programs use the fleet's CPUs?
SELECT name, uniq(host) AS hosts, sum(running_ns) AS running_ns, sum(runnable_ns) + sum(preempted_ns) AS waiting_ns
  FROM comm_bins WHERE toDate(toDateTime(intDiv(unix_ns, 1000000000)), 'UTC') >= yesterday()
 GROUP BY name HAVING running_ns > 0 ORDER BY running_ns DESC LIMIT 20;

-- 6. On which hosts are figures incomplete? The first and the last bin of a host are incomplete if they are not whole
-- seconds.
SELECT host, sum(lost_events) AS lost, countIf(complete = 0) AS incomplete_bins, count() AS bins
  FROM comm_bins WHERE cpus > 0 GROUP BY host ORDER BY lost DESC, host;

-- 7. Which program had the most resident memory, and where?
SELECT host, name, max(rss_peak_bytes) AS peak_bytes
  FROM comm_bins GROUP BY host, name HAVING peak_bytes > 0 ORDER BY peak_bytes DESC, host, name LIMIT 20;

-- 8. Who writes most to disks?
SELECT host, name, device, sum(ios) AS requests, sum(io_bytes) AS bytes
  FROM comm_bins WHERE op = 'write' GROUP BY host, name, device HAVING requests > 0 ORDER BY bytes DESC, host, name
      LIMIT 20;

-- 9. Which programs waited longest for a CPU? From recordings. A program is all processes of a name, with all of their
-- threads.
SELECT host, comm, max(wait_ns) AS wait_max_ns, sum(wait_ns) AS all_ns
  FROM sched_slices GLOBAL ANY LEFT JOIN (
       SELECT trace_id, utid, comm FROM (SELECT trace_id, utid, upid FROM threads) AS t ANY LEFT JOIN
              (SELECT trace_id, upid, comm FROM processes) AS p USING (trace_id, upid)) AS program USING (trace_id,
                  utid)
 WHERE utid >= 16 GROUP BY host, comm HAVING wait_max_ns > 0 ORDER BY wait_max_ns DESC LIMIT 20;

-- 10. Which block requests were slowest, and whose were they? From recordings.
SELECT host, toDateTime(intDiv(unix_ns, 1000000000)) AS ended, owner, op, bytes, latency_ns, queue_ns
  FROM block_requests WHERE latency_ns > 0 ORDER BY latency_ns DESC, unix_ns LIMIT 10;

-- Which loads have not arrived completely? Send them again: until then, their rows do not count.
SELECT host, trace_id, toDateTime(intDiv(load, 1000000000)) AS sent, of, sent_rows, arrived_rows FROM loads
    WHERE NOT whole ORDER BY sent, of;

-- Which hosts sent windows that overlap, with different starts? Their sums are too high in the overlap.
SELECT host, of, count() AS pieces, sum(to_ns - from_ns) - (max(to_ns) - min(from_ns)) AS at_least_twice_ns
  FROM (SELECT DISTINCT host, of, from_ns, to_ns FROM loads WHERE whole) GROUP BY host, of HAVING at_least_twice_ns > 0
      ORDER BY host, of;
