-- store: inserts ratings and replaces existing ones, which keep their id and the time of
-- their first version. Each pair occurs once. Without a WHERE, SQLite would parse ON as a part
-- of the FROM clause.
--
-- $1  a JSON array of {shop, user, stars, taste, environment, service, at}; at is the time, in
--     milliseconds
INSERT INTO ratings (shop_id, user_id, stars, taste, environment, service, created_at, updated_at)
SELECT r.value ->> 'shop', r.value ->> 'user', r.value ->> 'stars', r.value ->> 'taste', r.value ->> 'environment', r.value ->> 'service',
  r.value ->> 'at', r.value ->> 'at'
FROM json_each($1) AS r
WHERE true
ON CONFLICT (shop_id, user_id) DO UPDATE
SET stars = excluded.stars, taste = excluded.taste, environment = excluded.environment, service = excluded.service, updated_at = excluded.updated_at
