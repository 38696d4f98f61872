-- lock_counts: locks shops, in id order.
--
-- $1  shop ids
--
-- returns  shop
SELECT id
FROM shops
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
