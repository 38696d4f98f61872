-- remove: deletes ratings.
--
-- $1  a JSON array of {shop, user}
DELETE FROM ratings
WHERE (shop_id, user_id) IN (SELECT value ->> 'shop', value ->> 'user' FROM json_each($1))
