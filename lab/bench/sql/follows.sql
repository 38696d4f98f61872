-- follows: insert follows between users with consecutive ids. counts.sql sets the counters.
--
-- $1  first follower
-- $2  number of followers
-- $3  first followee
-- $4  number of followees of each
--
-- returns  lowest and highest id of the follows; the ids ascend with the followers
WITH h AS (
  UPDATE feed_head SET follows = follows + 1 WHERE id = 1 RETURNING seq
), made AS (
  INSERT INTO follows (follower_id, followee_id, since_seq, created_at)
  SELECT $1::bigint + f - 1, $3::bigint + a - 1, h.seq, (extract(epoch FROM now()) * 1000)::bigint
  FROM h, generate_series(1, $2::bigint) AS f, generate_series(1, $4::bigint) AS a
  ORDER BY f, a
  RETURNING id
)
SELECT min(id), max(id) FROM made
