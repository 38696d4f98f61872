-- ran: store the time of the last run of a job. Both dialects.
--
-- $1  name of the job
-- $2  milliseconds since 1970, as text
INSERT INTO settings (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
