-- first: who liked targets first, in order. The subquery reads no more of a target's
-- likes than it returns.
--
-- $1  a JSON array of ids of targets
-- $2  their kind
-- $3  most of each
--
-- returns  target, id of the like, user
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
