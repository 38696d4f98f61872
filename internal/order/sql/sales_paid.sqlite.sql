-- sales_paid: how many orders were paid on days, and how much. What was refunded
-- since is not taken off: it was paid on that day.
--
-- $1  the days: a JSON array of [begin, end), milliseconds
-- $2  shop; its line is left out for all shops
--
-- returns  begin, orders, minor units, for each day that has some. A range of an
-- index for each day: (shop_id, paid_at) or (paid_at). CROSS JOIN keeps that order of loops.
SELECT d.value ->> 0, count(*), sum(o.pay_value)
FROM json_each($1) AS d CROSS JOIN orders AS o
WHERE o.paid_at >= d.value ->> 0 AND o.paid_at < d.value ->> 1 AND o.paid_at IS NOT NULL
    AND shop_id = $2
GROUP BY 1
