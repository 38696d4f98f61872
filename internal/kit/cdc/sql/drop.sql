-- drop: drop the slot if no process reads it and it is lost or retains too much WAL.
--
-- $1  name of the slot
-- $2  bytes of WAL that it may retain; -1 drops it in any case
--
-- Affects one row if the slot was dropped. The conditions are in the statement so that it
-- does not drop a new slot because of the state of the old one.
SELECT pg_drop_replication_slot(slot_name)
FROM pg_replication_slots
WHERE slot_name = $1 AND database = current_database() AND NOT active
  AND ($2::bigint < 0 OR wal_status = 'lost' OR pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) > $2::bigint)
