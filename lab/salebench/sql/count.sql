-- count: what the database holds of one sale.
--
-- $1  the voucher
--
-- returns  orders, how many of them are live, how many users have a live one, and
--          how many pieces of the sale are gone
SELECT count(o.id),
  count(o.id) FILTER (WHERE o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'),
  count(DISTINCT o.user_id) FILTER (WHERE o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'),
  s.initial_stock - s.stock
FROM flash_sales s LEFT JOIN orders o ON o.voucher_id = s.id
WHERE s.id = $1
GROUP BY s.id
