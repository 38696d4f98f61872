-- marks: read the first and last ids of shops and notes; a seeded town has no gaps.
--
-- returns  first shop, last shop, first note, last note
SELECT (SELECT min(id) FROM shops), (SELECT max(id) FROM shops), (SELECT min(id) FROM notes), (SELECT max(id) FROM notes)
