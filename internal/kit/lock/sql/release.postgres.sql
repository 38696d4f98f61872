-- release: give a lock of the session up, which then may be idle for as long as
-- its pool likes.
--
-- $1  name
--
-- returns  whether the session had the lock
SELECT pg_advisory_unlock(hashtextextended($1, 1819239275)), set_config('idle_session_timeout', '0', false)
