-- register: store the token of the holder of a name, unless a later one is stored. The
-- row stays locked until the end of the transaction.
--
-- $1  name
-- $2  token
--
-- One row is affected, or none if a later holder has registered.
INSERT INTO lock_fences AS stored (name, token)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE
SET token = excluded.token
WHERE stored.token <= excluded.token
