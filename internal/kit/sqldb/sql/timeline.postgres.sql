-- timeline: the timeline on which the server writes.
--
-- returns  eight hexadecimal digits; an error while the server takes no writes
SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
