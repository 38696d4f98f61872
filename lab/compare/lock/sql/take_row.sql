-- take_row: take the lock of a name, also when its holder's time is over.
--
-- $1  name
-- $2  owner, a value that nobody else has
-- $3  life, milliseconds
--
-- One row is affected if the caller has the lock now, none if another has it.
INSERT INTO lock_rows AS held (name, owner, expires_at)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, expires_at = excluded.expires_at
WHERE held.expires_at <= clock_timestamp()
