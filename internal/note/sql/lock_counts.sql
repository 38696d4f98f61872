-- lock_counts: lock what is counted of notes, in the order of their ids.
--
-- $1  their ids
--
-- returns  note, likes, comments, its rank among hot notes, version, its shop; not of
--          notes that were deleted
SELECT c.id, c.likes, c.comments, c.hot, c.version, n.shop_id
FROM note_counts AS c
JOIN notes AS n ON n.id = c.id
WHERE c.id = ANY($1) AND NOT c.deleted
ORDER BY c.id
FOR UPDATE OF c
