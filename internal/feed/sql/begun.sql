-- begun: the follows that began since a log number, and the number of transactions so far that
-- added follows.
--
-- $1  the number
-- $2  limit of follows
--
-- returns  transactions; follower, followee, and log number at the commit of the follow, all null
--          in one row if there is none
SELECT h.follows, f.follower_id, f.followee_id, f.since_seq
FROM feed_head AS h
LEFT JOIN (
  SELECT follower_id, followee_id, since_seq FROM follows WHERE since_seq >= $1 LIMIT $2
) AS f ON true
WHERE h.id = 1
