-- plant: insert likes, in their order; those that are there stay.
--
-- $1  the kind of the targets
-- $2  now, milliseconds
-- $3  a JSON array of {target, user}
--
-- returns  like, target, user, of each like that was inserted
INSERT INTO likes (kind, target_id, user_id, created_at)
SELECT $1::varchar, (d.draft ->> 'target')::bigint, (d.draft ->> 'user')::bigint, $2::bigint
FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS d (draft, nth)
ORDER BY d.nth
ON CONFLICT (kind, target_id, user_id) DO NOTHING
RETURNING id, target_id, user_id
