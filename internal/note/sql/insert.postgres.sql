-- insert: inserts notes. Their ids are ascending.
--
-- $1  a JSON array of {author, shop, title, content, images, created, external}
--
-- returns  note, of each
INSERT INTO notes (author_id, shop_id, title, content, images, created_at, external_id)
SELECT r.author, r.shop, r.title, r.content, r.images::jsonb, r.created, r.external
FROM ROWS FROM (json_to_recordset($1) AS (author bigint, shop bigint, title text, content text, images text, created bigint, external text))
  WITH ORDINALITY AS r (author, shop, title, content, images, created, external, nth)
ORDER BY r.nth
RETURNING id
