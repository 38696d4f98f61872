-- begin: create a slot that lives as long as this session. It has all changes from now on.
--
-- {slot}  name of the slot (a replication connection takes no parameters)
--
-- Waits for the end of every transaction that runs on the whole server.
SELECT pg_create_logical_replication_slot('{slot}_new', 'pgoutput', true)
