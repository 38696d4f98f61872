-- count_notes: a page of notes, with their likes. In one statement: the count and the rows
-- change together. A note that was deleted counts nothing any more.
--
-- $1  id behind which the page begins
-- $2  most notes
--
-- returns  id, likes as they are counted, likes as there are rows
SELECT c.id, c.likes, (SELECT count(*) FROM likes AS l WHERE l.kind = 'NOTE' AND l.target_id = c.id)
FROM note_counts AS c
WHERE c.id > $1 AND NOT c.deleted
ORDER BY c.id
LIMIT $2
