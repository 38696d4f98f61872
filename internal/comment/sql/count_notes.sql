-- count_notes: a page of notes that were not deleted, with the comments on them, replies
-- too. In one statement: rows and counts change together, in the same transactions. No
-- index has a note's replies: they are found by the comments that they stand below.
--
-- $1  id behind which the page begins
-- $2  most notes
--
-- returns  id, comments counted, comments there are
SELECT n.id, n.comments,
  (SELECT count(*) FROM comments AS c WHERE c.note_id = n.id AND c.root_id IS NULL)
  + (SELECT count(*) FROM comments AS c JOIN comments AS r ON r.root_id = c.id AND r.root_id IS NOT NULL
     WHERE c.note_id = n.id AND c.root_id IS NULL)
FROM note_counts AS n
WHERE n.id > $1 AND NOT n.deleted
ORDER BY n.id
LIMIT $2
