-- learn: what the reader has to know once.
--
-- returns one row: oid of the database; the schema in which this session creates tables,
--         null if search_path names none; what the default names end with in that
--         schema; whether slots may hold back any amount of WAL
--
-- Reads catalogs only.
SELECT d.oid,
       n.nspname,
       CASE WHEN n.nspname <> 'public' THEN '_' || n.oid ELSE '' END,
       current_setting('max_slot_wal_keep_size') = '-1'
FROM pg_database d LEFT JOIN pg_namespace n ON n.nspname = current_schema()
WHERE d.datname = current_database()
