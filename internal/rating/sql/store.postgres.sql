-- store: inserts ratings and replaces existing ones, which keep their id and the time of
-- their first version. Each pair occurs once.
--
-- $1  a JSON array of {shop, user, stars, taste, environment, service, at}; at is the time, in
--     milliseconds
INSERT INTO ratings (shop_id, user_id, stars, taste, environment, service, created_at, updated_at)
SELECT shop, "user", stars, taste, environment, service, at, at
FROM json_to_recordset($1) AS r (shop bigint, "user" bigint, stars bigint, taste bigint, environment bigint, service bigint, at bigint)
ON CONFLICT (shop_id, user_id) DO UPDATE
SET stars = excluded.stars, taste = excluded.taste, environment = excluded.environment, service = excluded.service, updated_at = excluded.updated_at
