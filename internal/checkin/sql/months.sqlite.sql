-- months: read months of users.
--
-- $1  a JSON array of {user, month}
--
-- returns  user, month, days of each month with a row
SELECT c.user_id, c.month, c.days
FROM json_each($1) AS p
JOIN check_ins AS c ON c.user_id = p.value ->> 'user' AND c.month = p.value ->> 'month'
