-- lock: let one process at a time make the slot ready and read it. The server admits
-- one in any case, but by errors for the others, in its log and in ours. The lock lives
-- as long as the session, so it is taken by the connection that will read.
--
-- {slot}  name of the slot (a replication connection takes no parameters)
--
-- returns one row: whether the lock is ours now
SELECT pg_try_advisory_lock(hashtext('tandian log reader'), hashtext('{slot}'))
