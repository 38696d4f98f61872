-- names: read the database settings that the reader needs once.
--
-- returns one row: oid of the database; the schema in which this session creates tables,
--         null if search_path names none; the suffix of the default names in that schema;
--         whether slots may retain any amount of WAL
--
-- Reads catalogs only.
SELECT d.oid,
       n.nspname,
       CASE WHEN n.nspname <> 'public' THEN '_' || n.oid ELSE '' END,
       current_setting('max_slot_wal_keep_size') = '-1'
FROM pg_database d LEFT JOIN pg_namespace n ON n.nspname = current_schema()
WHERE d.datname = current_database()
