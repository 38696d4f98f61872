-- rated: read the ratings of shops.
--
-- returns  shop, user
SELECT shop_id, user_id
FROM ratings
