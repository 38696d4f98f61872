-- insert: inserts comments. Their ids are ascending.
--
-- $1  a JSON array of {note, author, root, parent, content, at}
--
-- returns  comment, of each
INSERT INTO comments (note_id, author_id, root_id, parent_id, content, like_count, reply_count, version, created_at)
SELECT r.note, r.author, r.root, r.parent, r.content, 0, 0, 1, r.at
FROM ROWS FROM (json_to_recordset($1) AS (note bigint, author bigint, root bigint, parent bigint, content text, at bigint))
  WITH ORDINALITY AS r (note, author, root, parent, content, at, nth)
ORDER BY r.nth
RETURNING id
