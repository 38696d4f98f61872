-- lock_counts: locks the counters of notes, in id order. It omits deleted notes.
--
-- $1  note ids
--
-- returns  note, likes, comments, saves, hot rank, version, shop
SELECT c.id, c.likes, c.comments, c.saves, c.hot, c.version, n.shop_id
FROM note_counts AS c
JOIN notes AS n ON n.id = c.id
WHERE c.id = ANY($1) AND NOT c.deleted
ORDER BY c.id
FOR UPDATE OF c
