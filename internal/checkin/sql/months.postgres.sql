-- months: read months of users.
--
-- $1  a JSON array of {user, month}
--
-- returns  user, month, days of each month with a row
--
-- The arrays make the planner use the index: it expects 100 rows of the JSON.
SELECT c.user_id, c.month, c.days
FROM json_to_recordset($1) AS p ("user" bigint, month bigint)
JOIN check_ins AS c ON c.user_id = p."user" AND c.month = p.month
WHERE c.user_id = ANY (ARRAY(SELECT (j.value ->> 'user')::bigint FROM json_array_elements($1) AS j (value)))
  AND c.month = ANY (ARRAY(SELECT (j.value ->> 'month')::bigint FROM json_array_elements($1) AS j (value)))
