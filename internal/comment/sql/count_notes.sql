-- count_notes: reads the stored and the actual comment counts of a page of existing notes,
-- including replies. One statement, so that rows and counts are consistent. No index lists
-- the replies of a note, so the statement finds them through their roots.
--
-- $1  id before the page
-- $2  maximum number of notes
--
-- returns  id, stored count, actual count
SELECT n.id, n.comments,
  (SELECT count(*) FROM comments AS c WHERE c.note_id = n.id AND c.root_id IS NULL)
  + (SELECT count(*) FROM comments AS c JOIN comments AS r ON r.root_id = c.id AND r.root_id IS NOT NULL
     WHERE c.note_id = n.id AND c.root_id IS NULL)
FROM note_counts AS n
WHERE n.id > $1 AND NOT n.deleted
ORDER BY n.id
LIMIT $2
