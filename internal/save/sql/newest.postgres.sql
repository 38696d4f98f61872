-- newest: reads the newest saves of users, newest first.
--
-- $1  a JSON array of user ids
-- $2  kind of the targets
-- $3  maximum number of each
--
-- returns  user, save, target
SELECT a.id::bigint, s.id, s.target_id
FROM jsonb_array_elements_text($1::jsonb) AS a (id)
CROSS JOIN LATERAL (
  SELECT s.id, s.target_id
  FROM saves AS s
  WHERE s.kind = $2 AND s.user_id = a.id::bigint
  ORDER BY s.id DESC
  LIMIT $3
) AS s
ORDER BY 1, 2 DESC
