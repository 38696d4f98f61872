-- first: who liked targets first, in order.
--
-- $1  a JSON array of ids of targets
-- $2  their kind
-- $3  most of each
--
-- returns  target, id of the like, user
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
