-- sales_paid: the number and amount of orders paid on each day, including later refunds.
--
-- $1  the days: a JSON array of [begin, end), milliseconds
-- $2  shop; its line is removed for all shops
--
-- returns  begin, orders, minor units, for each day. Cost: one index range per day,
-- (shop_id, paid_at) or (paid_at).
SELECT d.begins, o.paid, o.amount
FROM (SELECT (day ->> 0)::bigint AS begins, (day ->> 1)::bigint AS ends FROM jsonb_array_elements($1::jsonb) AS day) AS d
CROSS JOIN LATERAL (
  SELECT count(*) AS paid, coalesce(sum(pay_value), 0) AS amount FROM orders
  WHERE paid_at >= d.begins AND paid_at < d.ends
    AND shop_id = $2
) AS o
