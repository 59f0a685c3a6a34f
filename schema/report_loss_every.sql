-- What was lost?
--
-- One row per bin and class. A loss is known to lie in an interval of about a second; it counts in every bin that
-- interval touches, so bins must not be added up.
SELECT u.t_ns AS t_ns, u.class AS class, u.lost_events AS lost_events, u.complete AS complete
  FROM window_loss(:from, :to, :every) AS u
 ORDER BY u.t_ns, u.class
