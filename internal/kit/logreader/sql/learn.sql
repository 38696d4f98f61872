-- learn: what the reader has to know once.
--
-- returns one row: oid of the database; whether slots may hold back any amount of WAL
--
-- Reads catalogs only.
SELECT oid, current_setting('max_slot_wal_keep_size') = '-1'
FROM pg_database
WHERE datname = current_database()
