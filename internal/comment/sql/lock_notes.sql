-- lock_notes: keep the notes of comments from being deleted, in the order of their ids.
--
-- $1  ids of the comments
--
-- returns  comment, of each whose note is not deleted
SELECT c.id
FROM comments AS c
JOIN notes AS n ON n.id = c.note_id
WHERE c.id = ANY($1) AND n.deleted_at IS NULL
ORDER BY n.id
FOR SHARE OF n
