-- newest: the newest notes by the followees of a user, without deleted ones.
--
-- $1  the user
-- $2  the number to begin below
-- $3  limit of notes, at least 1
-- $4  not used here: $3 notes of each author are read
-- $5  only follows with a higher id count
--
-- returns  id of the newest follow, 0 if there is none; and author, number and id of each note,
--          newest first: all null in one row if there is no note
WITH followed AS MATERIALIZED (
  SELECT f.id AS id, f.followee_id AS author, coalesce((
    SELECT n.seq FROM notes AS n
    WHERE n.author_id = f.followee_id AND n.deleted_at IS NULL AND n.seq < $2
    ORDER BY n.seq DESC LIMIT 1 OFFSET $3 - 1
  ), 0) AS low
  FROM follows AS f WHERE f.follower_id = $1 AND f.id > $5
), newest AS (
  SELECT coalesce(max(id), 0) AS id FROM followed
)
SELECT newest.id, n.author_id, n.seq, n.id
FROM newest
LEFT JOIN (
  SELECT n.author_id AS author_id, n.seq AS seq, n.id AS id
  FROM followed AS f
  JOIN notes AS n ON n.author_id = f.author AND n.deleted_at IS NULL AND n.seq >= f.low AND n.seq < $2
  WHERE $4 > 0
  ORDER BY n.seq DESC
  LIMIT $3
) AS n ON true
ORDER BY n.seq DESC
