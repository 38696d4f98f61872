-- follows: have users with consecutive ids follow others with consecutive ids. What is
-- counted of them is for counts.sql.
--
-- $1  the first of those who follow
-- $2  how many
-- $3  the first of whom each of them follows
-- $4  how many
--
-- returns  the lowest and the highest id of the follows, which grow with the followers
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
