-- try: take a lock for the session unless somebody holds it or waits for it, and
-- prepare the session for what follows, whether it was granted the lock or not.
--
-- $1  name; the number makes the keys of these locks others than those that are
--     hashed with 0 elsewhere
-- $2  life of the lock, milliseconds: a session that was granted it and asks
--     nothing for so long is ended by the server, and the lock with it
--
-- returns  the fencing token, NULL if the lock was not granted
--
-- The token is the transaction's number. It is given out after the lock, as CASE
-- evaluates its condition first, so it is greater than those of all holders
-- before. The empty message makes the commit wait until it is on disk: after a
-- crash Postgres may give out again a number that is not.
--
-- The other settings would end the wait that may follow, but for the one that
-- would keep the commit from waiting. They last as long as the session, and so
-- do not bound what it is asked next; the last is of Postgres 17.
WITH lock AS MATERIALIZED (
  SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 1819239275)) THEN pg_current_xact_id()::text::bigint END AS token
)
SELECT token,
  set_config('idle_session_timeout', CASE WHEN token IS NULL THEN '0' ELSE $2 END, false),
  CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'local', false) END,
  set_config('lock_timeout', '0', false),
  set_config('statement_timeout', '0', false),
  CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL THEN set_config('transaction_timeout', '0', false) END,
  CASE WHEN token IS NOT NULL THEN pg_logical_emit_message(true, 'lock', '') END
FROM lock
