-- begin: a slot that is there as long as this session. Changes from now on are heard.
--
-- {slot}  name of the slot (a replication connection takes no parameters)
--
-- Waits until every transaction has ended that runs on the whole server.
SELECT pg_create_logical_replication_slot('{slot}_new', 'pgoutput', true)
