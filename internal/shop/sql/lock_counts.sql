-- lock_counts: lock shops, in the order of their ids.
--
-- $1  their ids
--
-- returns  shop
SELECT id
FROM shops
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
