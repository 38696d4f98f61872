-- pieces: a page of sales, with the orders that hold a piece of each. In one statement: stock
-- and orders change together, in the transactions of others.
--
-- $1  id behind which the page begins
-- $2  most sales
--
-- returns  id, initial stock, stock, live orders
SELECT f.id, f.initial_stock, f.stock, (
  SELECT count(*) FROM orders AS o
  WHERE o.voucher_id = f.id AND o.one_per_user AND o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'
)
FROM flash_sales AS f
WHERE f.id > $1
ORDER BY f.id
LIMIT $2
