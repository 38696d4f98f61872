-- alone: take an advisory lock of this name until the transaction ends, if nobody
-- has it.
--
-- $1  name. In a schema other than public it is the name's in that schema alone
--
-- returns one row: whether it was taken
SELECT pg_try_advisory_xact_lock(hashtextextended(
  $1::text || CASE current_schema() WHEN 'public' THEN '' ELSE ' in ' || current_schema() END, 1935764581))
