-- pgbench_open: count the connections of pgbench to a database.
--
-- $1  name of the database
--
-- returns  count
SELECT count(*)
FROM pg_stat_activity
WHERE datname = $1 AND application_name = 'pgbench'
