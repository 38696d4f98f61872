-- insert: inserts notes. Their ids are ascending.
--
-- $1  a JSON array of {author, shop, title, content, images, created, external}
--
-- returns  note, of each
INSERT INTO notes (author_id, shop_id, title, content, images, created_at, external_id)
SELECT r.value ->> 'author', r.value ->> 'shop', r.value ->> 'title', r.value ->> 'content', r.value ->> 'images', r.value ->> 'created', r.value ->> 'external'
FROM json_each($1) AS r
ORDER BY r.key
RETURNING id
