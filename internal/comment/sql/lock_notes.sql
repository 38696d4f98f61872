-- lock_notes: locks the notes of comments against deletion, in id order.
--
-- $1  comment ids
--
-- returns  comments whose note is not deleted
SELECT c.id
FROM comments AS c
JOIN notes AS n ON n.id = c.note_id
WHERE c.id = ANY($1) AND n.deleted_at IS NULL
ORDER BY n.id
FOR SHARE OF n
