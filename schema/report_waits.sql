-- view Waiting 2: What did threads wait for?
-- note: Each row is a kind of wait, and the system call in which threads waited. WAIT is the time of waits in the
--   window; with the time on CPUs it adds up to the life of the threads. The number and the maximum are those of the
--   waits that ended in the window, each with its whole length. Kinds: cpu, no CPU was free; throttled, the quota of
--   CPU time was used up; disk, a block request of the thread's own, or a call that reads, writes or syncs a file;
--   condition, a condition variable or a semaphore; poll, for one of several things; child, also a thread's end;
--   signal; fault, a page of memory that had to be read or allocated; kernel, a kernel thread without work; call,
--   another system call, or a file of another type, such as a terminal; unknown, the call is not known.
-- by: who
-- needs: sched.switch sched.wakeup block?
-- reach: before state
-- index: states
-- takes: every who threads sort
-- figure: wait_ns
-- drops: lost_events timeout_ns share_pct wait_max_ns
-- rows: sums
--
-- The result has one row per process (or thread, comm, cgroup), kind and call. Columns:
--   kind         cpu        runnable, and no CPU was free: runnable_ns + preempted_ns of report_states.sql
--                throttled  the quota of the thread's control group was used up
--                disk       a block request of the thread's own was in flight, or it slept in a call that
--                           reads, writes or syncs a file: another thread's request, such as a journal's
--                lock       futex, flock, fcntl, semop: a mutex, a barrier; or a lock of the kernel, in any call: of
--                           the process's mappings, of a directory (schema/LIMITS.md)
--                condition  futex: a condition variable or a semaphore, if the arguments of the call show it
--                           (schema/LIMITS.md); otherwise such a wait is of kind lock
--                socket, pipe  reading, writing, accepting, connecting, or a poll of this file alone
--                poll       poll, select, epoll_wait, io_uring_enter: several things at once
--                timer      nanosleep and similar calls, a poll without descriptors
--                child      wait4, waitid, vfork, clone; pthread_join of glibc: the end of another thread
--                signal     pause, sigsuspend, sigwait
--                fault      an exception of user code: a page that had to be read or allocated
--                kernel     kernel threads, which wait for work
--                call       another system call, or a file of another type: a terminal, an eventfd,
--                           or one of proc, sysfs or the control groups (cgroup.procs)
--                stopped    stopped by a signal, a tracer or the freezer of a control group, which is the object
--                unknown    unknown_ns of report_states.sql, and a sleep in an unknown call:
--                           it began before the trace, or the kernel is older than 5.15
--   call         the system call, user code or kernel thread. The type of a file is unknown before
--                Linux 6.2: a read then has the kind call
--   waits        waits that ended in the window; wait_max_ns: the longest
--   timeouts     waits that ended because their time was up; empty: no such wait; timeout_ns: their mean length
--   wait_ns      time in the window, also of waits that end later
--   share_pct    of the time that the group's threads waited
SELECT $t
       $keys
       u.kind AS kind, u.call AS call, sum(u.waits) AS waits, sum(u.wait_ns) AS wait_ns,
           max(u.wait_max_ns) AS wait_max_ns, nullif(sum(u.timeouts), 0) AS timeouts,
           sum(u.timeout_ns) / nullif(sum(u.timeouts), 0) AS timeout_ns,
       round(100.0 * sum(u.wait_ns) / nullif(sum(sum(u.wait_ns)) OVER (PARTITION BY u.t_ns, u.upid, u.utid, u.name), 0),
           3) AS share_pct,
       view_complete(u.t_ns, u.t_end_ns) AS complete,
       view_lost(u.t_ns, u.t_end_ns) AS lost_events
  FROM wait_kinds(:from, :to, :every, :by) AS u
  LEFT JOIN processes AS p ON p.upid = u.upid
  LEFT JOIN threads AS t ON t.utid = u.utid
 GROUP BY u.t_ns, u.upid, u.utid, u.name, u.kind, u.call
 ORDER BY u.t_ns, u.kind = 'kernel', sum(u.wait_ns) DESC, u.upid, u.utid, u.name, u.kind, u.call
