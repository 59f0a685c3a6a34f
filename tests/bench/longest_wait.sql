-- The longest wait for a CPU that the threads of some processes caused while they ran on it: other threads were
-- runnable on that CPU at the same time. WHO is a condition on processes as p. A slice beyond the fifty longest
-- cannot contain the longest wait, unless no thread waited for one of these.
WITH slices AS MATERIALIZED (
  SELECT s.cpu, s.start_ns, s.start_ns + s.dur_ns AS end_ns, s.wait_ns, coalesce(WHO, 0) AS is_tool
    FROM sched_slices AS s JOIN threads AS t ON t.utid = s.utid LEFT JOIN processes AS p ON p.upid = t.upid),
tool AS MATERIALIZED (SELECT * FROM slices WHERE is_tool ORDER BY end_ns - start_ns DESC LIMIT 50)
SELECT coalesce(max(r.end_ns - max(r.start_ns, w.start_ns - w.wait_ns)), 0) AS longest_wait_ns
  FROM tool AS r CROSS JOIN slices AS w
 WHERE w.cpu = r.cpu AND w.wait_ns > 0 AND NOT w.is_tool AND w.start_ns >= r.end_ns
 AND w.start_ns - w.wait_ns < r.end_ns
