-- saves: read the saves of shops, in their order.
--
-- returns  shop, user, time in milliseconds
SELECT target_id, user_id, created_at
FROM saves
WHERE kind = 'SHOP'
ORDER BY id
