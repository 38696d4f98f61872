-- count_points: a page of users, with the points that the orders gave which are counted, and
-- those of their check-ins. In one statement: the users change together with the orders, in
-- the transactions of the tally, and together with the check-ins, in those of the check-ins.
--
-- $1  id behind which the page begins
-- $2  most users
-- $3  minor units of one point
--
-- returns  id, points, points of the orders counted and of the check-ins
SELECT u.id, u.points,
  (SELECT COALESCE(sum(o.pay_value / $3), 0) FROM orders AS o WHERE o.user_id = u.id AND o.tallied)
  + (SELECT COALESCE(sum(c.points), 0) FROM check_ins AS c WHERE c.user_id = u.id)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
