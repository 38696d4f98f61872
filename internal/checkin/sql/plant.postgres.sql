-- plant: add days to months of users, in their order. A month that has one of its days by
-- now stays as it is.
--
-- $1  a JSON array of {user, month, days, points}, each month of a user once
--
-- returns  user and month, of each that was changed; the others are locked all the same
INSERT INTO check_ins (user_id, month, days, points)
SELECT (d.draft ->> 'user')::bigint, (d.draft ->> 'month')::bigint, (d.draft ->> 'days')::bigint, (d.draft ->> 'points')::bigint
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS d (draft, nth)
ORDER BY d.nth
ON CONFLICT (user_id, month) DO UPDATE
SET days = check_ins.days | excluded.days, points = check_ins.points + excluded.points
WHERE (check_ins.days & excluded.days) = 0
RETURNING user_id, month
