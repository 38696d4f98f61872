-- slot: return the state of the slot.
--
-- $1  name of the slot
--
-- returns one row: exists; ours (of this database and for pgoutput; true if it does not
--         exist); active; lost (the server has removed WAL that it needs); bytes of WAL
--         that it retains; the acknowledged position
--
-- Reads shared memory and catalogs only. It fails on a standby, which writes no WAL.
SELECT s.slot_name IS NOT NULL,
       s.slot_name IS NULL OR coalesce(s.database = d.datname AND s.plugin = 'pgoutput', false),
       coalesce(s.active, false),
       coalesce(s.wal_status = 'lost', false),
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn), 0)::bigint,
       coalesce(s.confirmed_flush_lsn, '0/0')::text
FROM pg_database d LEFT JOIN pg_replication_slots s ON s.slot_name = $1
WHERE d.datname = current_database()
