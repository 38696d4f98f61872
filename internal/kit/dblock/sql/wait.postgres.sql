-- wait: take an advisory lock for the session as soon as its holders and earlier waiters
-- have released it. Run try.postgres.sql in the session before.
--
-- $1  name
-- $2  TTL, milliseconds
-- $3  whether other shared holders may have it too
--
-- returns  true
WITH key AS MATERIALIZED (
  SELECT hashtextextended($1::text || CASE current_schema() WHEN 'public' THEN '' ELSE ' in ' || current_schema() END, 1935764581) AS id
), lock AS MATERIALIZED (
  SELECT CASE WHEN $3::boolean THEN pg_advisory_lock_shared(id)::text ELSE pg_advisory_lock(id)::text END FROM key
)
SELECT set_config('idle_session_timeout', $2, false) IS NOT NULL FROM lock
