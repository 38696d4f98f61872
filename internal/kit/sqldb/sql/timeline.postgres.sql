-- timeline: on which line of history the server writes. A standby that is promoted, and a
-- backup that is restored to a moment, begin another one.
--
-- returns  eight hexadecimal digits; an error while the server takes no writes
SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
