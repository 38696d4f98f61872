-- remove: deletes ratings.
--
-- $1  a JSON array of {shop, user}
DELETE FROM ratings AS r
USING json_to_recordset($1) AS p (shop bigint, "user" bigint)
WHERE r.shop_id = p.shop AND r.user_id = p."user"
