-- months: read months of users.
--
-- $1  a JSON array of {user, month}
--
-- returns  user, month, days, of each that has a row
SELECT c.user_id, c.month, c.days
FROM json_to_recordset($1) AS p ("user" bigint, month bigint)
JOIN check_ins AS c ON c.user_id = p."user" AND c.month = p.month
