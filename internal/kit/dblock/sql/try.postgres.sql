--  try: take an advisory lock for the session if it is free. Prepare the session to hold it or
--  to wait for it.
--
--  $1  name, scoped to a schema other than public
--  $2  TTL, milliseconds: the server ends a session with the lock that is silent for so long
--  $3  whether the lock is shared
--
--  returns  whether the lock was taken
--
--  The other settings would end the wait that may follow. transaction_timeout exists since
--  Postgres 17. RESET ALL restores them before the connection returns to its pool.
WITH key AS MATERIALIZED (
  SELECT hashtextextended($1::text || CASE current_schema() WHEN 'public' THEN '' ELSE ' in ' || current_schema() END, 1935764581) AS id
), lock AS MATERIALIZED (
  SELECT CASE WHEN $3::boolean THEN pg_try_advisory_lock_shared(id) ELSE pg_try_advisory_lock(id) END AS taken FROM key
), settings AS MATERIALIZED (
  SELECT taken,
    set_config('idle_session_timeout', CASE WHEN taken THEN $2 ELSE '0' END, false),
    set_config('lock_timeout', '0', false),
    set_config('statement_timeout', '0', false),
    CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL THEN set_config('transaction_timeout', '0', false) END
  FROM lock
)
SELECT taken FROM settings
