-- types: reads shop types.
--
-- $1  type ids
--
-- returns  id, name, icon, list order
SELECT id, name, icon_url, sort FROM shop_types
WHERE id = ANY($1)
