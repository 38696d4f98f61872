-- last: return the time of the last run of a job. Both dialects.
--
-- $1  name of the job
--
-- returns no row if it never ran, else one: milliseconds since 1970, as text
SELECT value FROM settings WHERE name = $1
