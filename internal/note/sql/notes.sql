-- notes: reads notes that are not deleted.
--
-- $1  note ids
--
-- returns  the columns that fromRow in rows.go needs
SELECT id, author_id, shop_id, title, content, images, seq, created_at FROM notes
WHERE id = ANY($1) AND deleted_at IS NULL
