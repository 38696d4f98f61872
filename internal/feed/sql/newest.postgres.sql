-- newest: the newest notes by the followees of a user, without deleted ones.
--
-- $1  the user
-- $2  the number to begin below
-- $3  limit of notes, at least 1
-- $4  notes per author in the first pass, 1 to $3
-- $5  only follows with a higher id count
--
-- returns  id of the newest follow, 0 if there is none; and author, number and id of each note,
--          newest first: all null in one row if there is no note
--
-- The first pass reads the newest notes of each author. The second continues only for authors that
-- may have more among the newest of all: the last note that fits gives the lower bound. So the
-- cost is at most authors times $4, plus $3 times $3 / $4, for any number of notes per author.
WITH followed AS MATERIALIZED (
  SELECT id, followee_id FROM follows WHERE follower_id = $1 AND id > $5
), heads AS MATERIALIZED (
  SELECT n.author_id, n.seq, n.id, n.nth
  FROM followed AS f
  CROSS JOIN LATERAL (
    SELECT n.author_id, n.seq, n.id, row_number() OVER (ORDER BY n.seq DESC) AS nth
    FROM notes AS n
    WHERE n.author_id = f.followee_id AND n.deleted_at IS NULL AND n.seq < $2
    ORDER BY n.seq DESC
    LIMIT $4
  ) AS n
), cut AS MATERIALIZED (
  SELECT coalesce((SELECT seq FROM heads ORDER BY seq DESC OFFSET $3::bigint - 1 LIMIT 1), 0) AS seq
), deeper AS (
  SELECT n.author_id, n.seq, n.id
  FROM heads AS h
  CROSS JOIN cut
  CROSS JOIN LATERAL (
    SELECT n.author_id, n.seq, n.id
    FROM notes AS n
    WHERE n.author_id = h.author_id AND n.deleted_at IS NULL AND n.seq < h.seq AND n.seq >= cut.seq
    ORDER BY n.seq DESC
    LIMIT $3
  ) AS n
  WHERE h.nth = $4 AND h.seq > cut.seq
)
SELECT newest.id, n.author_id, n.seq, n.id
FROM (SELECT coalesce(max(id), 0) AS id FROM followed) AS newest
LEFT JOIN (
  SELECT author_id, seq, id FROM heads
  UNION ALL
  SELECT author_id, seq, id FROM deeper
  ORDER BY seq DESC
  LIMIT $3
) AS n ON true
ORDER BY n.seq DESC
