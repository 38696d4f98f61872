-- ran: write down when a job was run. Both dialects.
--
-- $1  name of the job
-- $2  milliseconds since 1970, as a text
INSERT INTO settings (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
