-- plant: add days to months of users, in their order. A month that has one of its days by
-- now stays as it is. Without a WHERE, SQLite would take ON for a part of the FROM.
--
-- $1  a JSON array of {user, month, days, points}, each month of a user once
--
-- returns  user and month, of each that was changed; the others are locked all the same
INSERT INTO check_ins (user_id, month, days, points)
SELECT d.value ->> 'user', d.value ->> 'month', d.value ->> 'days', d.value ->> 'points'
FROM json_each($1) AS d
WHERE true
ORDER BY d.key
ON CONFLICT (user_id, month) DO UPDATE
SET days = check_ins.days | excluded.days, points = check_ins.points + excluded.points
WHERE (check_ins.days & excluded.days) = 0
RETURNING user_id, month
