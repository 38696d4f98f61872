--  release: release an advisory lock of the session.
--
--  $1  name
--  $2  whether the lock is shared
--
--  returns  whether the session had the lock
SELECT CASE WHEN $2::boolean THEN pg_advisory_unlock_shared(id) ELSE pg_advisory_unlock(id) END
FROM (SELECT hashtextextended($1::text || CASE current_schema() WHEN 'public' THEN '' ELSE ' in ' || current_schema() END, 1935764581) AS id) key
