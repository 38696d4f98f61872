-- count_sold: a page of shops with their sales counter and their counted orders. One
-- statement, because both change in the same transactions.
--
-- $1  id before the page
-- $2  maximum shops
--
-- returns  id, sales, counted orders
SELECT s.id, s.sold, (SELECT count(*) FROM orders AS o WHERE o.shop_id = s.id AND o.tallied)
FROM shops AS s
WHERE s.id > $1
ORDER BY s.id
LIMIT $2
