-- count_notes: reads the stored and the actual saves of a page of existing notes. One statement,
-- so that rows and numbers are consistent.
--
-- $1  id before the page
-- $2  maximum number of notes
--
-- returns  id, stored number, actual number
SELECT c.id, c.saves, (SELECT count(*) FROM saves AS s WHERE s.kind = 'NOTE' AND s.target_id = c.id)
FROM note_counts AS c
WHERE c.id > $1 AND NOT c.deleted
ORDER BY c.id
LIMIT $2
