-- end_sessions: end the sessions that have a name.
--
-- $1  application_name
-- $2  only those that hold an advisory lock
--
-- returns  how many were ended
SELECT count(pg_terminate_backend(a.pid, 10000))
FROM pg_stat_activity AS a
WHERE a.application_name = $1
  AND (NOT $2 OR EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted))
