-- newest: reads the newest saves of users, newest first. The subquery reads no more saves of a
-- user than it returns.
--
-- $1  a JSON array of user ids
-- $2  kind of the targets
-- $3  maximum number of each
--
-- returns  user, save, target
SELECT a.value, s.id, s.target_id
FROM json_each($1) AS a
JOIN saves AS s ON s.id IN (
  SELECT n.id
  FROM saves AS n
  WHERE n.kind = $2 AND n.user_id = a.value
  ORDER BY n.id DESC
  LIMIT $3
)
ORDER BY 1, 2 DESC
