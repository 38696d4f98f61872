-- plant: insert likes, in their order; those that are there stay. Without a WHERE,
-- SQLite would take ON for a part of the FROM.
--
-- $1  the kind of the targets
-- $2  now, milliseconds
-- $3  a JSON array of {target, user}
--
-- returns  like, target, user, of each like that was inserted
INSERT INTO likes (kind, target_id, user_id, created_at)
SELECT $1, d.value ->> 'target', d.value ->> 'user', $2
FROM json_each($3) AS d
WHERE true
ORDER BY d.key
ON CONFLICT (kind, target_id, user_id) DO NOTHING
RETURNING id, target_id, user_id
