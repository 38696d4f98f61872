-- crowd: make users, all at once.
--
-- $1  how many
--
-- returns  the lowest and the highest of their ids, between which there is no other
WITH made AS (
  INSERT INTO users (nickname, created_at, updated_at)
  SELECT 'Crowd', now(), now() FROM generate_series(1, $1::bigint)
  RETURNING id
)
SELECT min(id), max(id) FROM made
