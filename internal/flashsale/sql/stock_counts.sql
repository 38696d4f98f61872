--  stock_counts: read a page of sales with the counts of their live orders. One statement reads
--  both, because transactions change stock and orders together.
--
--  $1  last id of the previous page
--  $2  page size
--
--  returns  id, initial stock, stock, live orders
SELECT f.id, f.initial_stock, f.stock, (
  SELECT count(*) FROM orders AS o
  WHERE o.voucher_id = f.id AND o.one_per_user AND o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'
)
FROM flash_sales AS f
WHERE f.id > $1
ORDER BY f.id
LIMIT $2
