-- sale: read the state of a sale.
--
-- $1  voucher
--
-- returns  initial stock, stock, live orders, users of these, paid orders
SELECT s.initial_stock, s.stock, count(o.id), count(DISTINCT o.user_id), count(CASE WHEN o.status = 'PAID' THEN 1 END)
FROM flash_sales AS s
LEFT JOIN orders AS o ON o.voucher_id = s.id AND o.status NOT IN ('CANCELLED', 'REFUNDED', 'FAILED')
WHERE s.id = $1
GROUP BY s.id, s.initial_stock, s.stock
