-- count_points: a page of users, with the points that the orders gave which are counted. In
-- one statement: both change together, in the transactions of the tally.
--
-- $1  id behind which the page begins
-- $2  most users
-- $3  minor units of one point
--
-- returns  id, points, points of the orders counted
SELECT u.id, u.points, (SELECT COALESCE(sum(o.pay_value / $3), 0) FROM orders AS o WHERE o.user_id = u.id AND o.tallied)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
