-- visible: do statements that begin now see what a transaction did?
--
-- $1  its id, 32 bits, as the log has it
--
-- returns one row: whether it is below all that have not begun, and not among those
--         that have not ended
--
-- Reads shared memory only.
SELECT (pg_snapshot_xmax(now.snapshot)::text::bigint - $1::bigint) & 4294967295 BETWEEN 1 AND 2147483647
       AND NOT EXISTS (
         SELECT FROM pg_snapshot_xip(now.snapshot) AS running(id)
         WHERE running.id::text::bigint & 4294967295 = $1::bigint
       )
FROM (SELECT pg_current_snapshot() AS snapshot) AS now
