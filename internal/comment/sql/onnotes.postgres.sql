-- onnotes: reads ranges of the comments on notes, newest first, without replies.
--
-- $1  a JSON array of {note, below, most}: note id, exclusive upper bound of the comment
--     ids, and maximum number of comments
--
-- returns  note, id
SELECT a.note, c.id
FROM jsonb_to_recordset($1::jsonb) AS a (note bigint, below bigint, most bigint)
CROSS JOIN LATERAL (
  SELECT c.id
  FROM comments AS c
  WHERE c.note_id = a.note AND c.root_id IS NULL AND c.id < a.below
  ORDER BY c.id DESC
  LIMIT a.most
) AS c
ORDER BY a.note, c.id DESC
