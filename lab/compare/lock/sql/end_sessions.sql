-- end_sessions: end the sessions of a name.
--
-- $1  application_name
-- $2  only those that hold an advisory lock
--
-- returns  number of ended sessions
SELECT count(pg_terminate_backend(a.pid, 10000))
FROM pg_stat_activity AS a
WHERE a.application_name = $1
  AND (NOT $2 OR EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted))
