-- sales_orders: the number of orders made on each day, without failed ones.
--
-- $1  the days: a JSON array of [begin, end), milliseconds
-- $2  shop; its line is removed for all shops
--
-- returns  begin, orders, for each day with orders. Cost: one index range per day,
-- (shop_id, created_at, id) or (created_at, id). CROSS JOIN fixes the loop order.
SELECT d.value ->> 0, count(*)
FROM json_each($1) AS d CROSS JOIN orders AS o
WHERE o.created_at >= d.value ->> 0 AND o.created_at < d.value ->> 1 AND o.status <> 'FAILED'
    AND shop_id = $2
GROUP BY 1
