-- find: finds existing saves.
--
-- $1  kind of the targets
-- $2  a JSON array of {target, user}
--
-- returns  save, target, user, of each existing save
SELECT s.id, s.target_id, s.user_id
FROM json_each($2) AS d
JOIN saves AS s ON s.kind = $1 AND s.target_id = d.value ->> 'target' AND s.user_id = d.value ->> 'user'
