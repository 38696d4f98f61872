-- count_notes: reads the stored and the actual likes of a page of existing notes. One
-- statement, so that rows and counts are consistent.
--
-- $1  id before the page
-- $2  maximum number of notes
--
-- returns  id, stored count, actual count
SELECT c.id, c.likes, (SELECT count(*) FROM likes AS l WHERE l.kind = 'NOTE' AND l.target_id = c.id)
FROM note_counts AS c
WHERE c.id > $1 AND NOT c.deleted
ORDER BY c.id
LIMIT $2
