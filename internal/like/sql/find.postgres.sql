-- find: finds existing likes.
--
-- $1  kind of the targets
-- $2  a JSON array of {target, user}
--
-- returns  like, target, user, of each existing like
SELECT l.id, l.target_id, l.user_id
FROM json_to_recordset($2) AS d (target bigint, "user" bigint)
JOIN likes AS l ON l.kind = $1 AND l.target_id = d.target AND l.user_id = d."user"
