-- insert: inserts likes, in order. It skips existing ones.
--
-- $1  kind of the targets
-- $2  now, in milliseconds
-- $3  a JSON array of {target, user}
--
-- returns  like, target, user, of each new like
INSERT INTO likes (kind, target_id, user_id, created_at)
SELECT $1::varchar, (d.draft ->> 'target')::bigint, (d.draft ->> 'user')::bigint, $2::bigint
FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS d (draft, nth)
ORDER BY d.nth
ON CONFLICT (kind, target_id, user_id) DO NOTHING
RETURNING id, target_id, user_id
