-- find: finds existing ratings.
--
-- $1  a JSON array of {shop, user}
--
-- returns  shop, user, stars, taste, environment, service, time of the last change
SELECT r.shop_id, r.user_id, r.stars, r.taste, r.environment, r.service, r.updated_at
FROM json_to_recordset($1) AS p (shop bigint, "user" bigint)
JOIN ratings AS r ON r.shop_id = p.shop AND r.user_id = p."user"
