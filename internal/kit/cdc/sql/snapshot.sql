-- snapshot: return the snapshot of a statement that begins now.
--
-- returns one row: xmin:xmax:xip,xip,… as text. A committed transaction is visible if its
--         id is below xmax and not in the list
--
-- Reads shared memory only.
SELECT pg_current_snapshot()::text
