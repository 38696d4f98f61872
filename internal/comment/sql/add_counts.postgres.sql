-- add_counts: adds to the likes and replies of comments. Each comment occurs once.
--
-- $1  a JSON array of {id, likes, replies}
--
-- returns  the updated rows
--
-- The array of ids makes the planner use the index: it expects 100 rows from JSON.
UPDATE comments AS c
SET like_count = c.like_count + r.likes, reply_count = c.reply_count + r.replies, version = c.version + 1
FROM json_to_recordset($1) AS r (id bigint, likes bigint, replies bigint)
WHERE c.id = r.id AND c.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
RETURNING c.id, c.note_id, c.author_id, c.root_id, c.parent_id, c.content, c.like_count, c.reply_count, c.version, c.created_at
