-- alone: take an advisory lock of this name until the transaction ends, if nobody
-- has it.
--
-- $1  name
--
-- returns one row: whether it was taken
SELECT pg_try_advisory_xact_lock(hashtextextended($1, 1935764581))
