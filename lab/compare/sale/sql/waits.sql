-- waits: report whether a session of this name waits for a lock of the database.
--
-- $1  application_name
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock')
