-- make_permanent: make the slot of begin.sql permanent. A permanent slot means that any earlier gap
-- has been reported.
--
-- {slot}  name of the slot (a replication connection takes no parameters)
--
-- Fails with duplicate_object if another process created it meanwhile.
SELECT pg_copy_logical_replication_slot('{slot}_new', '{slot}', false);
SELECT pg_drop_replication_slot('{slot}_new')
