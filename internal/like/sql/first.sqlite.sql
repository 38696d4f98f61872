-- first: reads the first likers of targets, in order. The subquery reads no more likes of
-- a target than it returns.
--
-- $1  a JSON array of target ids
-- $2  kind of the targets
-- $3  maximum number of each
--
-- returns  target, like, user
SELECT a.value, l.id, l.user_id
FROM json_each($1) AS a
JOIN likes AS l ON l.id IN (
  SELECT f.id
  FROM likes AS f
  WHERE f.kind = $2 AND f.target_id = a.value
  ORDER BY f.id
  LIMIT $3
)
ORDER BY 1, 2
