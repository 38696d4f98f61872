-- insert: inserts comments. Their ids are ascending.
--
-- $1  a JSON array of {note, author, root, parent, content, at}
--
-- returns  comment, of each
INSERT INTO comments (note_id, author_id, root_id, parent_id, content, like_count, reply_count, version, created_at)
SELECT r.value ->> 'note', r.value ->> 'author', r.value ->> 'root', r.value ->> 'parent', r.value ->> 'content', 0, 0, 1, r.value ->> 'at'
FROM json_each($1) AS r
ORDER BY r.key
RETURNING id
