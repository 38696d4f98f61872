-- sales_orders: the number of orders made on each day, without failed ones.
--
-- $1  the days: a JSON array of [begin, end), milliseconds
-- $2  shop; its line is removed for all shops
--
-- returns  begin, orders, for each day. Cost: one index range per day,
-- (shop_id, created_at, id) or (created_at, id).
SELECT d.begins, o.orders
FROM (SELECT (day ->> 0)::bigint AS begins, (day ->> 1)::bigint AS ends FROM jsonb_array_elements($1::jsonb) AS day) AS d
CROSS JOIN LATERAL (
  SELECT count(*) AS orders FROM orders
  WHERE created_at >= d.begins AND created_at < d.ends AND status <> 'FAILED'
    AND shop_id = $2
) AS o
