-- begun: the follows that began while the log was between two numbers.
--
-- $1  the lower number, which counts
-- $2  the higher one, which does not
-- $3  how many at most
--
-- returns  follower, followee, the number of the log at the commit of the follow
SELECT f.follower_id, f.followee_id, f.since_seq
FROM follows AS f
WHERE f.since_seq >= $1 AND f.since_seq < $2
LIMIT $3
