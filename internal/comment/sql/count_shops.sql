-- count_shops: reads the stored and the actual counts of comments on existing notes, for a
-- page of shops, including replies. One statement: see count_notes.
--
-- $1  id before the page
-- $2  maximum number of shops
--
-- returns  id, stored count, actual count
SELECT s.id, s.comment_count,
  (SELECT count(*) FROM notes AS n JOIN comments AS c ON c.note_id = n.id AND c.root_id IS NULL
   WHERE n.shop_id = s.id AND n.deleted_at IS NULL)
  + (SELECT count(*) FROM notes AS n JOIN comments AS c ON c.note_id = n.id AND c.root_id IS NULL
     JOIN comments AS r ON r.root_id = c.id AND r.root_id IS NOT NULL
     WHERE n.shop_id = s.id AND n.deleted_at IS NULL)
FROM shops AS s
WHERE s.id > $1
ORDER BY s.id
LIMIT $2
