-- newest: the newest notes of whom a user follows, without what is deleted.
--
-- $1  the user
-- $2  the number below which to begin
-- $3  how many notes at most, at least 1
-- $4  how many of each author are read at first, 1 to $3
-- $5  only those count whose follow has a higher id
--
-- returns  the id of the newest follow, 0 if there is none; and of each note author, number
--          and id, newest first: all null in one row if there is no note
--
-- The newest of each author, and then of those alone who may have more among the newest of
-- all: the last one that is in says below which number nobody has to be read. So what is read
-- is bounded by the authors times $4, and $3 times $3 / $4, and not by what they wrote.
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
