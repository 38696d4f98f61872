-- The roles and the database of docker-compose.yml. The postgres image runs this file as
-- the superuser when the volume is empty. \getenv reads passwords from the environment, so
-- that they are not arguments of a process. An older volume keeps its old roles: run
-- these statements there by hand.
\getenv server_password TANDIAN_DATABASE_PASSWORD
\getenv exporter_password TANDIAN_EXPORTER_DATABASE_PASSWORD

-- The servers. REPLICATION is for the log reader, ownership for migrations and publications.
CREATE ROLE tandian LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE REPLICATION PASSWORD :'server_password';
CREATE DATABASE tandian OWNER tandian;
REVOKE ALL ON DATABASE tandian FROM PUBLIC;

-- postgres-exporter: statistics, and no rows of tables.
CREATE ROLE exporter LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE IN ROLE pg_monitor PASSWORD :'exporter_password';
GRANT CONNECT ON DATABASE tandian TO exporter;
