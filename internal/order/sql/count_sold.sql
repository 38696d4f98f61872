-- count_sold: a page of shops, with the orders that are counted into what they sold. In one
-- statement: both change together, in the transactions of the tally.
--
-- $1  id behind which the page begins
-- $2  most shops
--
-- returns  id, pieces sold, orders counted
SELECT s.id, s.sold, (SELECT count(*) FROM orders AS o WHERE o.shop_id = s.id AND o.tallied)
FROM shops AS s
WHERE s.id > $1
ORDER BY s.id
LIMIT $2
