-- newest: reads the newest targets that users like, newest first.
--
-- $1  a JSON array of user ids
-- $2  kind of the targets
-- $3  maximum number of each
--
-- returns  user, target
SELECT a.id::bigint, l.target_id
FROM jsonb_array_elements_text($1::jsonb) AS a (id)
CROSS JOIN LATERAL (
  SELECT l.target_id
  FROM likes AS l
  WHERE l.kind = $2 AND l.user_id = a.id::bigint
  ORDER BY l.target_id DESC
  LIMIT $3
) AS l
ORDER BY 1, 2 DESC
