-- What was lost?
--
-- The result has one row per bin and class. Losses are known per interval of about a second, and a
-- loss counts in every bin that its interval touches. Do not add bins.
SELECT u.t_ns AS t_ns, u.class AS class, u.lost_events AS lost_events, u.complete AS complete
  FROM window_loss(:from, :to, :every) AS u
 ORDER BY u.t_ns, u.class
