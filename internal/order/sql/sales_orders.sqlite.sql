-- sales_orders: how many orders were made on days, failed ones not counted.
--
-- $1  the days: a JSON array of [begin, end), milliseconds
-- $2  shop; its line is left out for all shops
--
-- returns  begin, orders, for each day that has some. A range of an index for each
-- day: (shop_id, created_at, id) or (created_at, id). CROSS JOIN keeps that order of loops.
SELECT d.value ->> 0, count(*)
FROM json_each($1) AS d CROSS JOIN orders AS o
WHERE o.created_at >= d.value ->> 0 AND o.created_at < d.value ->> 1 AND o.status <> 'FAILED'
    AND shop_id = $2
GROUP BY 1
