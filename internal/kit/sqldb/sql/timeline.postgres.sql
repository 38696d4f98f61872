-- timeline: the timeline on which the server writes. Promoting a standby or restoring a backup to a
-- point in time starts a new timeline.
--
-- returns  eight hexadecimal digits; an error while the server takes no writes
SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
