-- count_shops: a page of shops, with the comments on notes about them that were not
-- deleted, replies too. In one statement: see count_notes.
--
-- $1  id behind which the page begins
-- $2  most shops
--
-- returns  id, comments counted, comments there are
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
