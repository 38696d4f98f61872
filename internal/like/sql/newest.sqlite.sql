-- newest: reads the newest targets that users like, newest first. The subquery reads no
-- more likes of a user than it returns.
--
-- $1  a JSON array of user ids
-- $2  kind of the targets
-- $3  maximum number of each
--
-- returns  user, target
SELECT a.value, l.target_id
FROM json_each($1) AS a
JOIN likes AS l ON l.id IN (
  SELECT n.id
  FROM likes AS n
  WHERE n.kind = $2 AND n.user_id = a.value
  ORDER BY n.target_id DESC
  LIMIT $3
)
ORDER BY 1, 2 DESC
