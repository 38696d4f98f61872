-- Roles and database of docker-compose.yml. The postgres image runs this file as the
-- superuser if the volume is empty. \getenv reads passwords from the environment, so that
-- they do not appear in process arguments. An existing volume keeps its roles: run these
-- statements there by hand.
\getenv server_password TANDIAN_DATABASE_PASSWORD
\getenv exporter_password TANDIAN_EXPORTER_DATABASE_PASSWORD

-- The servers. Change data capture needs REPLICATION; migrations and publications need
-- ownership.
CREATE ROLE tandian LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE REPLICATION PASSWORD :'server_password';
CREATE DATABASE tandian OWNER tandian;
REVOKE ALL ON DATABASE tandian FROM PUBLIC;

-- postgres-exporter: statistics, without access to table rows.
CREATE ROLE exporter LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE IN ROLE pg_monitor PASSWORD :'exporter_password';
GRANT CONNECT ON DATABASE tandian TO exporter;
