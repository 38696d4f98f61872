-- upsert: add days to months of users, in order. A month that already has one of the days
-- does not change.
--
-- $1  a JSON array of {user, month, days, points}, each month of a user once
--
-- returns  user and month of each changed month; the others are locked too
INSERT INTO check_ins (user_id, month, days, points)
SELECT (d.draft ->> 'user')::bigint, (d.draft ->> 'month')::bigint, (d.draft ->> 'days')::bigint, (d.draft ->> 'points')::bigint
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS d (draft, nth)
ORDER BY d.nth
ON CONFLICT (user_id, month) DO UPDATE
SET days = check_ins.days | excluded.days, points = check_ins.points + excluded.points
WHERE (check_ins.days & excluded.days) = 0
RETURNING user_id, month
