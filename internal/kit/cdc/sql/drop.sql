-- drop: give the slot up, if nobody reads it and it is lost or holds back too much.
--
-- $1  name of the slot
-- $2  bytes of WAL that it may hold back; -1 drops it in any case
--
-- Affects one row if the slot was dropped. The conditions stand here so that a slot
-- that somebody has just begun anew is not dropped for what the old one was.
SELECT pg_drop_replication_slot(slot_name)
FROM pg_replication_slots
WHERE slot_name = $1 AND database = current_database() AND NOT active
  AND ($2::bigint < 0 OR wal_status = 'lost' OR pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) > $2::bigint)
