-- variant of loss every: What was lost?
--
-- The result has one row per bin and class. Losses are known per interval of about a second. A loss counts in the bin
-- in which its interval ends, so bins add up; every bin that the interval overlaps is not complete.
SELECT u.t_ns AS t_ns, u.class AS class, u.lost_events AS lost_events, u.complete AS complete
  FROM window_loss(:from, :to, :every) AS u
 ORDER BY u.t_ns, u.class
