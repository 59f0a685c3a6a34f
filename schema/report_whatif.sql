-- view of why 2: How much sooner would it have ended without a cause?
-- note: Savings do not add up: two causes may hide each other, or save the same time. Each saving is an interval: the
--   window is replayed without the cause, once with the recorded waits for a CPU, and once with any free CPU for a
--   thread that is ready. The larger of two errors widens the interval: that of the second replay without a change,
--   and that of the waits for a CPU that are left on the path, since these differ between runs (95 %). The end is
--   that of the report's thread that was last on a CPU in the window, or of a thread that had ended before, if its
--   end is later in the replay. A process that is removed answers at once and uses no CPU; a lock that is removed
--   causes no waits. NEXT is the largest part of the path to the end that is left.
-- nobody: The end is that of the last thread on a CPU, of any process; --workload, --pid, --comm, --tid, --thread or
--   --during selects threads.
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- takes: who threads sort without
-- figure: saves_max_ns
-- drops: lost_events drift_ns next_ns
--
-- The result has one row per cause on the path to the end (report path), per function with most samples of the
-- process that ran longest on the path (up to three), and per cause that NEXT of another row names; or one row for
-- all of --without together. Columns:
--   cause        lock:NAME, file:PATH: waits for the lock, or the file, with the names of report waits; process:NAME:
--                all activity of the threads of processes with this name; function:NAME: the function's share of the
--                samples; disk, quota, sleep, timeout, stop: waits for a disk, throttling, sleeps of a given time,
--                other waits that timed out, stops; followed by :NAME, those of one process. cpu: all waits for a CPU
--   saves_min_ns, saves_max_ns    smallest and largest saving
--   of_ns        from the window's beginning to the recorded end
--   drift_ns     widening of the interval on both sides: the error of the replay with CPUs without a change or, if it
--                is larger, 1.96 times the root of the sum of the squares of the waits for a CPU on the path that is
--                left, at most their sum: a run without the cause meets other waits
--   next         largest part of the path that is left: a process, its activity, and the object; next_ns: its time
--   verdict      why the saving is not known: the path has unknown parts, or a thread that polls: it sleeps equally
--                long at least ten times in a row, and wakes no thread in between
SELECT cause AS cause, saves_min_ns AS saves_min_ns, saves_max_ns AS saves_max_ns, of_ns AS of_ns,
       drift_ns AS drift_ns, next AS next, next_ns AS next_ns, verdict AS verdict,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM whatif(:from, :to, :without)
 ORDER BY verdict NOT NULL, saves_min_ns + saves_max_ns DESC, cause
