-- insert: inserts saves, in order. It skips existing ones.
--
-- $1  kind of the targets
-- $2  a JSON array of {target, user, created}, times in milliseconds
--
-- returns  target, user, of each new save
INSERT INTO saves (kind, target_id, user_id, created_at)
SELECT $1::varchar, (d.draft ->> 'target')::bigint, (d.draft ->> 'user')::bigint, (d.draft ->> 'created')::bigint
FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS d (draft, nth)
ORDER BY d.nth
ON CONFLICT (kind, target_id, user_id) DO NOTHING
RETURNING target_id, user_id
