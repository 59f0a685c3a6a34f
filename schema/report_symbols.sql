-- view Recording 3: Which files lack names for their code?
-- note: A file counts if a recorded stack has a frame without a name in it. --symbols DIR assigns names to code of
--   files whose program or debug file is below DIR; with this option, the view has the files that still lack names.
-- without profile.period_ns stacks.min_bytes stacks.every offcpu.min_ns: No stacks were recorded; `ebpfrec record
--   --profile -- COMMAND` records some.
-- needs: cpu.sample? sched.offcpu? alloc?
-- takes: sort who threads
-- drops: addresses build_id
--
-- The result has one row per file with a build id for which a recorded stack has a frame without a name: the stack of
-- a sample (record --profile), a wait (--offcpu) or an allocation (--stacks). Columns:
--   module, build_id file, as the process saw it
--   addresses        addresses in the file without a name, in these stacks; one that several processes have counts once
--   stacks           recorded stacks with such a frame; stacks_pct: in percent of all recorded stacks
-- A stack with frames of several files counts for each.
WITH recorded AS MATERIALIZED (
	SELECT stack, count(*) AS cnt FROM (
		SELECT stack, utid, ts_ns FROM cpu_samples UNION ALL SELECT stack, utid, ts_ns FROM offcpu
		UNION ALL SELECT stack, utid, ts_ns FROM stack_samples) AS e
	 WHERE ts_ns >= :from AND ts_ns < :to AND stack NOT NULL AND thread_in_scope(utid, ts_ns) GROUP BY stack),
missing AS MATERIALIZED (
	SELECT DISTINCT f.stack AS stack, s.module AS module, s.build_id AS build_id, s.module_offset AS module_offset
	  FROM user_sites AS s JOIN stack_frames AS f ON f.upid = s.upid AND f.addr = s.addr
	 WHERE s.unresolved NOT NULL AND s.build_id NOT NULL AND f.stack IN (SELECT stack FROM recorded))
SELECT m.module AS module, m.build_id AS build_id,
       (SELECT count(DISTINCT x.module_offset) FROM missing AS x
         WHERE x.build_id = m.build_id AND x.module = m.module) AS addresses, sum(r.cnt) AS stacks,
       round(100.0 * sum(r.cnt) / (SELECT sum(cnt) FROM recorded), 3) AS stacks_pct,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM (SELECT DISTINCT module, build_id, stack FROM missing) AS m JOIN recorded AS r ON r.stack = m.stack
 GROUP BY m.build_id, m.module
 ORDER BY stacks DESC, m.module
