-- crowd: insert users in one statement.
--
-- $1  number of users
--
-- returns  the lowest and the highest id; the ids are consecutive
WITH made AS (
  INSERT INTO users (nickname, created_at, updated_at)
  SELECT 'Crowd', now(), now() FROM generate_series(1, $1::bigint)
  RETURNING id
)
SELECT min(id), max(id) FROM made
