-- insert: inserts saves, in order. It skips existing ones. Without a WHERE, SQLite would parse
-- ON as a part of the FROM clause.
--
-- $1  kind of the targets
-- $2  a JSON array of {target, user, created}, times in milliseconds
--
-- returns  target, user, of each new save
INSERT INTO saves (kind, target_id, user_id, created_at)
SELECT $1, d.value ->> 'target', d.value ->> 'user', d.value ->> 'created'
FROM json_each($2) AS d
WHERE true
ORDER BY d.key
ON CONFLICT (kind, target_id, user_id) DO NOTHING
RETURNING target_id, user_id
