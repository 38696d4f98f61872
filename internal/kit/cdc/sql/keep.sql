-- keep: make the slot of begin.sql one that outlives its session. A slot that is there
-- so means that whatever was missed before it has been told.
--
-- {slot}  name of the slot (a replication connection takes no parameters)
--
-- Fails with duplicate_object if somebody else made it meanwhile.
SELECT pg_copy_logical_replication_slot('{slot}_new', '{slot}', false);
SELECT pg_drop_replication_slot('{slot}_new')
