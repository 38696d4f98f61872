-- upsert: add days to months of users, in order. A month that already has one of the days
-- does not change. Without a WHERE, SQLite would parse ON as part of the FROM.
--
-- $1  a JSON array of {user, month, days, points}, each month of a user once
--
-- returns  user and month of each changed month; the others are locked too
INSERT INTO check_ins (user_id, month, days, points)
SELECT d.value ->> 'user', d.value ->> 'month', d.value ->> 'days', d.value ->> 'points'
FROM json_each($1) AS d
WHERE true
ORDER BY d.key
ON CONFLICT (user_id, month) DO UPDATE
SET days = check_ins.days | excluded.days, points = check_ins.points + excluded.points
WHERE (check_ins.days & excluded.days) = 0
RETURNING user_id, month
