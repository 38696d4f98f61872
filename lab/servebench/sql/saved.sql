-- saved: read the saves of shops.
--
-- returns  shop, user
SELECT target_id, user_id
FROM saves
WHERE kind = 'SHOP'
