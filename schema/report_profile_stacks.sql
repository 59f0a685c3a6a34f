-- variant of profile stacks: From which stacks did code run on the CPU?
--
-- If samples were recorded (record --profile), the result has one row per stack (by module: of files), and per
-- process (or thread, comm, cgroup). Columns:
--   oncpu_ns         the part of the time on the CPU, as in report_profile.sql
--   samples          number of samples that this time stands for
--   stack            frames, outermost function first, separated by ';': user space, then the kernel.
--                    [no sample]: threads that used the CPU, and have no sample in the window
SELECT $cpukeys sum(u.oncpu_ns) AS oncpu_ns, sum(u.samples) AS samples, u.text AS stack,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM (SELECT utid, upid, $names samples, oncpu_ns, coalesce($stack_text(stack, last_ns), '[no sample]') AS text
          FROM cpu_profile(:from, :to)) AS u
  JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = u.upid
 GROUP BY $cpugroup u.text
 ORDER BY sum(u.oncpu_ns) DESC, u.text
