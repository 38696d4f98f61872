-- marks: where shops and notes begin and end, which seeds number in a row.
--
-- returns  first shop, last shop, first note, last note
SELECT (SELECT min(id) FROM shops), (SELECT max(id) FROM shops), (SELECT min(id) FROM notes), (SELECT max(id) FROM notes)
