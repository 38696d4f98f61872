-- count_points: a page of users with their points, and the points of their counted orders and
-- check-ins. One statement, because users change in the same transactions as orders and
-- check-ins.
--
-- $1  id before the page
-- $2  maximum users
-- $3  minor units of one point
--
-- returns  id, points, points of counted orders and check-ins
SELECT u.id, u.points,
  (SELECT COALESCE(sum(o.pay_value / $3), 0) FROM orders AS o WHERE o.user_id = u.id AND o.tallied)
  + (SELECT COALESCE(sum(c.points), 0) FROM check_ins AS c WHERE c.user_id = u.id)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
