-- register: write down the fencing token of a lock's holder, unless a later
-- holder has. On Postgres whoever registers the same name waits for those who
-- did before to commit or roll back. Both dialects.
--
-- $1  name
-- $2  token
-- $3  now, milliseconds since 1970; only for sweep.sql
--
-- changes  one row, none if a later holder registered
INSERT INTO lock_fences (name, token, registered_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET token = excluded.token, registered_at = excluded.registered_at
WHERE lock_fences.token <= excluded.token
