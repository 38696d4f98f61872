-- find: finds existing saves.
--
-- $1  kind of the targets
-- $2  a JSON array of {target, user}
--
-- returns  save, target, user, of each existing save
SELECT s.id, s.target_id, s.user_id
FROM json_to_recordset($2) AS d (target bigint, "user" bigint)
JOIN saves AS s ON s.kind = $1 AND s.target_id = d.target AND s.user_id = d."user"
