-- begun: the follows that began since the log had a number, and how many transactions had
-- any begin so far: who knows all of these knows of that many.
--
-- $1  the number
-- $2  how many follows at most
--
-- returns  how many transactions; follower, followee, the number of the log at the commit
--          of the follow, all null in one row if there is none
SELECT h.follows, f.follower_id, f.followee_id, f.since_seq
FROM feed_head AS h
LEFT JOIN (
  SELECT follower_id, followee_id, since_seq FROM follows WHERE since_seq >= $1 LIMIT $2
) AS f ON true
WHERE h.id = 1
