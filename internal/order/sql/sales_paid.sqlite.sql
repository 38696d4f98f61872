-- sales_paid: the number and amount of orders paid on each day, including later refunds.
--
-- $1  the days: a JSON array of [begin, end), milliseconds
-- $2  shop; its line is removed for all shops
--
-- returns  begin, orders, minor units, for each day with payments. Cost: one index range per day,
-- (shop_id, paid_at) or (paid_at). CROSS JOIN fixes the loop order.
SELECT d.value ->> 0, count(*), sum(o.pay_value)
FROM json_each($1) AS d CROSS JOIN orders AS o
WHERE o.paid_at >= d.value ->> 0 AND o.paid_at < d.value ->> 1 AND o.paid_at IS NOT NULL
    AND shop_id = $2
GROUP BY 1
