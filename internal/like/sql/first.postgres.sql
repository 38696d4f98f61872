-- first: reads the first likers of targets, in order.
--
-- $1  a JSON array of target ids
-- $2  kind of the targets
-- $3  maximum number of each
--
-- returns  target, like, user
SELECT a.id::bigint, l.id, l.user_id
FROM jsonb_array_elements_text($1::jsonb) AS a (id)
CROSS JOIN LATERAL (
  SELECT l.id, l.user_id
  FROM likes AS l
  WHERE l.kind = $2 AND l.target_id = a.id::bigint
  ORDER BY l.id
  LIMIT $3
) AS l
ORDER BY 1, 2
