-- last: when a job was last run. Both dialects.
--
-- $1  name of the job
--
-- returns no row if it never was, else one: milliseconds since 1970, as a text
SELECT value FROM settings WHERE name = $1
