-- session: the server session that runs this statement.
--
-- returns one row: a text that is unique among all running sessions of all servers
--
-- It reads no table, so a new session loads no catalogs.
SELECT pg_backend_pid() || ' ' || pg_postmaster_start_time()
