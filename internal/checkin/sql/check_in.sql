-- check_in: check a user in on a day, and count what it earns, unless the user had
-- checked in on that day. Of two at once the second one waits for the row, and finds the day.
--
-- $1  user
-- $2  month, yyyymm
-- $3  the day, as a bit of the month's days
-- $4  points
--
-- affects  one row, or none if the day was there
INSERT INTO check_ins (user_id, month, days, points)
VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, month) DO UPDATE
SET days = check_ins.days | excluded.days, points = check_ins.points + excluded.points
WHERE (check_ins.days & excluded.days) = 0
