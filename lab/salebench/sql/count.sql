-- count: read the orders of one sale.
--
-- $1  voucher
--
-- returns  orders, live orders, users with a live order, sold items by the row of the sale
SELECT count(o.id),
  count(o.id) FILTER (WHERE o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'),
  count(DISTINCT o.user_id) FILTER (WHERE o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'),
  s.initial_stock - s.stock
FROM flash_sales s LEFT JOIN orders o ON o.voucher_id = s.id
WHERE s.id = $1
GROUP BY s.id
