-- snapshot: which transactions do statements see that begin now?
--
-- returns one row: xmin:xmax:xip,xip,… as text. What committed is seen if its id is below
--         xmax and not among the xip
--
-- Reads shared memory only.
SELECT pg_current_snapshot()::text
