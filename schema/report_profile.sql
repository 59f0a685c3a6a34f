-- view CPU 2: Which code ran on the CPU?
-- note: The time is exact: each thread's time on the CPU is divided among its samples in the window. SAMPLES is the
--   number of samples of a row; if it is small, the division is rough. User-space frames come from unwind tables
--   (record --unwind). In code without tables, or with --unwind fp, they come from frame pointers: code without
--   these, such as most C libraries, cuts a stack short or omits callers.
-- without profile.period_ns: No samples were recorded; `ebpfrec record --profile -- COMMAND` records
--   some.
-- by: who function module
-- default: function
-- needs: sched.switch cpu.sample
-- index: sched
-- takes: who threads lines sort stacks
-- figure: self_pct
-- drops: total_samples self_pct
--
-- If samples were recorded (record --profile), the result has one row per function that was on a stack (by module:
-- per file with code that was), and per process (or thread, comm, cgroup) if --by names such a key. Columns:
--   pid, comm        if --by names no task key: those of the processes, if all have the same
--   function, module    of the program or the kernel, as stacks name it. [no sample]: threads that used the CPU, but
--                    have no sample in the window
--   mode             user or kernel: functions of both may have the same name
--   self_ns          part of the time on the CPU in which the function itself ran. The sum of all rows is exactly
--                    oncpu_ns of report cpu
--   self_pct         self_ns in percent of that of all rows
--   total_ns         part in which the function, or a function that it called, ran
--   samples          number of samples that self_ns stands for; total_samples: the same for total_ns. With n samples,
--                    a share p of the time is known to about sqrt(p * (1 - p) / n)
-- The formats of stacks have a row per stack (report_profile_stacks.sql).
WITH s AS MATERIALIZED (
	SELECT row_number() OVER () AS n, utid, upid, $names samples, oncpu_ns,
               iif(stack IS NULL, '[no sample]', $stack_text(stack, last_ns, 'user')) AS user,
               $stack_text(stack, last_ns, 'kernel') AS kernel
	  FROM cpu_profile(:from, :to)),
frames AS (
        SELECT s.*, m.column1 AS mode,
               '[' || replace(json_quote(iif(m.column1 = 'user', user, kernel)), ';', '","') || ']' AS list
	  FROM s CROSS JOIN (VALUES ('user'), ('kernel')) AS m WHERE iif(m.column1 = 'user', user, kernel) NOT NULL),
-- a function that is on a stack twice counts once
f AS (
        SELECT s.utid AS utid, s.upid AS upid, s.comm_then AS comm_then, s.thread_name_then AS thread_name_then,
            j.value AS function, s.mode AS mode, s.samples AS samples,
               s.oncpu_ns AS oncpu_ns,
	       max(j.key) = json_array_length(s.list) - 1 AND (s.mode = 'kernel' OR s.kernel IS NULL) AS is_self
	  FROM frames AS s, json_each(s.list) AS j GROUP BY s.n, s.mode, j.value)
SELECT $cpukeys u.function AS $frame, nullif(u.mode, iif(u.function = '[no sample]', 'user', '')) AS mode,
       sum(u.oncpu_ns * u.is_self) AS self_ns,
       round(100.0 * sum(u.oncpu_ns * u.is_self) / nullif(sum(sum(u.oncpu_ns * u.is_self)) OVER (), 0), 3) AS self_pct,
       sum(u.oncpu_ns) AS total_ns, sum(u.samples * u.is_self) AS samples, sum(u.samples) AS total_samples,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM f AS u JOIN threads AS t ON t.utid = u.utid JOIN processes AS p ON p.upid = u.upid
 GROUP BY $cpugroup u.function, u.mode
 ORDER BY self_ns DESC, samples DESC, total_ns DESC, u.function, u.mode
