-- remove: deletes saves.
--
-- $1  save ids
--
-- returns  target, user, of each deleted one
DELETE FROM saves
WHERE id = ANY($1)
RETURNING target_id, user_id
