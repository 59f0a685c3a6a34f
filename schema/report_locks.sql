-- view Waiting 3: Which locks were waited for, and who held them?
-- note: Each row is a lock of a process: OBJECT is the variable that contains the lock, its address or the file of a
--   flock, or for a lock of the kernel the mappings (mmap lock), the file or directory, or the function that takes
--   the lock. A wait counts in the window in which it ended; WAIT is its time in the window. The holder is the thread
--   whose releases ended most of this time, and MEANWHILE is the activity of that thread during the waits. A signal,
--   a time-out, a tracer or the freezer only interrupts a wait: its holder is the thread that next releases the lock
--   to the same waiter, or [unknown]. KIND is lock, or condition for a condition variable or a semaphore. Rows of
--   kind condition come last, and include locks that a program builds from condition variables or semaphores (Java's
--   monitors, locks of Python and PostgreSQL); their HOLDER is the thread that signalled. A wait for the end of a
--   thread is a row, too, if the recorder cannot distinguish it from a wait for a lock.
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- index: states
-- takes: who threads sort
-- figure: wait_ns
-- drops: lost_events held_pct waiters tid wait_max_ns
--
-- The result has one row per process and lock that a thread waited for in futex, flock, fcntl or semop, or in the
-- kernel. Rows of the workload come first. Columns:
--   object       the variable that contains the lock, with its file: "audit_lock (server)"; its address in the memory
--                of the process, if no variable contains it (on the heap, on a stack), or if the recorder could not
--                read the process's mappings before it exited; the path of the file whose lock flock waited for;
--                "inode lock of /var/lib/x" or "kernel lock in pipe_write", the function that takes it; empty
--                for semop, whose locks cannot be distinguished, for flock before Linux 6.2, and if the kernel does not
--                report the call (before Linux 5.15)
--   kind         lock or condition
--   waits        waits that ended in the window; waiters: threads that had one; wait_max_ns: the longest, with its
--                whole length
--   holder       thread whose releases of the lock ended most of the time; tid: its number. If a signal, a time-out
--                or the like ended a wait, the holder is that of the same thread's next wait for the lock that ended
--                by a release; [unknown]: there is no such wait, or the kernel does not report the waker's call
--                (before Linux 5.15). A thread that itself waited for a lock during more than half of a wait only
--                passed it on: the holder of that lock counts instead
--   held_pct     share of wait_ns that the holder ended
--   meanwhile    activity of the holder, and of other threads that had the lock in between, during these waits: the
--                kinds of report waits with the most time
-- A lock in memory that several processes share, or of a file, has a row for each process.
WITH e AS MATERIALIZED (
        SELECT e.*, t.upid AS upid FROM wait_ends(:from, :to) AS e JOIN threads AS t ON t.utid = e.utid
          WHERE e.kind IN ('lock', 'condition')),
w AS (SELECT upid, kind, object, sum(waits) AS waits, count(DISTINCT utid) AS waiters, sum(wait_ns) AS wait_ns,
             max(wait_max_ns) AS wait_max_ns
        FROM e GROUP BY upid, kind, object),
h AS (SELECT upid, kind, object, ender_utid, sum(wait_ns) AS wait_ns,
             row_number() OVER (PARTITION BY upid, kind, object ORDER BY sum(wait_ns) DESC, ender_utid) AS n
        FROM e GROUP BY upid, kind, object, ender_utid)
SELECT p.pid AS pid, p.comm AS comm, w.object AS object, w.kind AS kind, w.waits AS waits, w.waiters AS waiters,
       w.wait_ns AS wait_ns, w.wait_max_ns AS wait_max_ns, coalesce(t.comm, '[unknown]') AS holder, t.tid AS tid,
       round(100.0 * h.wait_ns / nullif(w.wait_ns, 0), 3) AS held_pct,
       (SELECT group_concat(text, ', ')
          FROM (SELECT printf('%s %d %%', meanwhile, sum(meanwhile_ns) * 100 / h.wait_ns) AS text
                  FROM e WHERE e.upid = w.upid AND e.kind = w.kind AND e.object IS w.object
                  AND e.ender_utid = h.ender_utid AND e.meanwhile NOT NULL
                 GROUP BY meanwhile HAVING sum(meanwhile_ns) * 100 >= h.wait_ns
                 ORDER BY sum(meanwhile_ns) DESC, meanwhile LIMIT 3)) AS meanwhile,
       view_complete(:from, :to) AS complete, view_lost(:from, :to) AS lost_events
  FROM w JOIN h ON h.n = 1 AND h.upid = w.upid AND h.kind = w.kind AND h.object IS w.object
  JOIN processes AS p ON p.upid = w.upid
  LEFT JOIN threads AS t ON t.utid = h.ender_utid
 ORDER BY p.is_workload DESC, w.kind DESC, w.wait_ns DESC, w.upid, w.object
