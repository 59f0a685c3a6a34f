-- view of why 2: How much sooner would it have ended without a cause?
-- note: Savings do not add up: two causes may hide each other, or save the same time. Each saving is from .. to: the
--   window's time is replayed without the cause's part, once with the recorded waits for a CPU and once with any free
--   CPU for a thread that is ready. The error of the latter without a change widens the interval, or that of the waits
--   for a CPU that are left on the path if it is larger, as these differ between runs (95 %). The end is that
--   of the report's thread that was on a CPU last in the window, or of one that had ended before, if it is later then.
--   A process that is left out answers at once and takes
--   no CPU; a lock that is left out is never waited for. NEXT is then the largest part of the path to the end.
-- nobody: The end is that of the last thread on a CPU, whoever it belongs to; --workload, --pid, --comm, --tid,
--   --thread or --during picks one.
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- takes: who threads sort without
-- figure: saves_max_ns
-- drops: lost_events drift_ns next_ns
--
-- The result has one row per cause on the path to the end (report path), per function with most samples of the process
-- that ran longest on it (up to three), and per cause that NEXT names without one of them, or one row for all of
-- --without together. Columns:
--   cause        lock:NAME, file:PATH: waits for the lock, or the file, as report waits names them; process:NAME: all
--                that the threads of processes of this name do; function:NAME: the function's share of the samples;
--                disk, quota, sleep, timeout, stop: waits for a disk, throttling, sleeps of a given time, other waits
--                that timed out, stops; with :NAME of one process. cpu: all waits for a CPU
--   saves_min_ns, saves_max_ns    the saving: at least and at most
--   of_ns        from the window's beginning to the recorded end
--   drift_ns     by how much the interval is widened on both sides: the error of the replay with CPUs without a change
--                or, if it is larger, 1.96 times the root of the sum of the squares of the waits for a CPU on the path
--                that is left, at most their sum: a run without the cause meets other waits
--   next         the largest part of the path that is left: a process, what it did, and the object; next_ns: its time
--   verdict      why the answer is not known: the path has unknown parts, or a thread that polls: it sleeps equally
--                long at least ten times, one after the other, and wakes nobody in between
SELECT cause AS cause, saves_min_ns AS saves_min_ns, saves_max_ns AS saves_max_ns, of_ns AS of_ns,
       drift_ns AS drift_ns, next AS next, next_ns AS next_ns, verdict AS verdict,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM whatif(:from, :to, :without)
 ORDER BY verdict NOT NULL, saves_min_ns + saves_max_ns DESC, cause
