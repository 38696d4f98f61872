-- lists_guard: be the only one to compare lists until the transaction ends.
--
-- $1  name
--
-- returns  whether nobody else is
SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))
