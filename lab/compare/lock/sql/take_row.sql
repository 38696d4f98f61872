-- take_row: take the lock of a name, also if its holder's lease has expired.
--
-- $1  name
-- $2  owner, a unique value
-- $3  lease, in milliseconds
--
-- returns  nothing; affects one row if the caller has the lock now, none if another holds it
INSERT INTO lock_rows AS held (name, owner, expires_at)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, expires_at = excluded.expires_at
WHERE held.expires_at <= clock_timestamp()
