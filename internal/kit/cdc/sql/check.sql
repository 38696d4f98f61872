-- check: report whether this role can read the write-ahead log of this server.
--
-- returns one row: wal_level; whether the server is a standby; whether the role may
--         replicate; number of free replication slots; whether the slot with the default
--         name of this package exists
--
-- Reads catalogs only.
SELECT current_setting('wal_level'),
       pg_is_in_recovery(),
       r.rolsuper OR r.rolreplication OR EXISTS (
         SELECT FROM pg_roles g
         WHERE g.rolname = 'rds_replication' AND pg_has_role(current_user, g.oid, 'MEMBER')
       ),
       current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots),
       EXISTS (
         SELECT FROM pg_replication_slots s JOIN pg_database d ON d.datname = s.database
         LEFT JOIN pg_namespace n ON n.nspname = current_schema() AND n.nspname <> 'public'
         WHERE d.datname = current_database() AND s.slot_name = concat('tandian_', d.oid, '_' || n.oid)
       )
FROM pg_roles r
WHERE r.rolname = current_user
