-- wait: take a lock for the session that try.postgres.sql did not take, as soon as
-- those who hold it or wait for it longer have had it.
--
-- $1  name
-- $2  life of the lock, milliseconds
--
-- returns  the fencing token
--
-- See try.postgres.sql. What is MATERIALIZED is evaluated before the row is read
-- that the rest is computed of.
WITH lock AS MATERIALIZED (
  SELECT pg_advisory_lock(hashtextextended($1, 1819239275))
)
SELECT pg_current_xact_id()::text::bigint,
  set_config('idle_session_timeout', $2, false),
  pg_logical_emit_message(true, 'lock', '')
FROM lock
