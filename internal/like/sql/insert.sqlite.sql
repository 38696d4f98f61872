-- insert: inserts likes, in order. It skips existing ones. Without a WHERE, SQLite would
-- parse ON as a part of the FROM clause.
--
-- $1  kind of the targets
-- $2  now, in milliseconds
-- $3  a JSON array of {target, user}
--
-- returns  like, target, user, of each new like
INSERT INTO likes (kind, target_id, user_id, created_at)
SELECT $1, d.value ->> 'target', d.value ->> 'user', $2
FROM json_each($3) AS d
WHERE true
ORDER BY d.key
ON CONFLICT (kind, target_id, user_id) DO NOTHING
RETURNING id, target_id, user_id
