-- torn reads sales whose stock and live orders do not add up, in one snapshot.
--
-- It returns voucher, initial stock, stock, live orders.
SELECT s.id, s.initial_stock, s.stock, count(o.id)
FROM flash_sales AS s
LEFT JOIN orders AS o ON o.voucher_id = s.id AND o.status NOT IN ('CANCELLED', 'REFUNDED', 'FAILED')
GROUP BY s.id, s.initial_stock, s.stock
HAVING s.stock + count(o.id) <> s.initial_stock
