--  wait: take an advisory lock for the session after its holders and earlier waiters. Run
--  try.postgres.sql in the session first.
--
--  $1  name
--  $2  TTL, milliseconds
--  $3  whether the lock is shared
--
--  returns  true
WITH key AS MATERIALIZED (
  SELECT hashtextextended($1::text || CASE current_schema() WHEN 'public' THEN '' ELSE ' in ' || current_schema() END, 1935764581) AS id
), lock AS MATERIALIZED (
  SELECT CASE WHEN $3::boolean THEN pg_advisory_lock_shared(id)::text ELSE pg_advisory_lock(id)::text END FROM key
)
SELECT set_config('idle_session_timeout', $2, false) IS NOT NULL FROM lock
