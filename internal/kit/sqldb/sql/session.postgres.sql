-- session: which server session runs this statement?
--
-- returns one row: a text that no other living session has, on whichever server
--
-- Reads no table, so that a new session has no catalogs to load.
SELECT pg_backend_pid() || ' ' || pg_postmaster_start_time()
