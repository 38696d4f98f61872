-- add_counts: adds to the likes and replies of comments. Each comment occurs once.
--
-- $1  a JSON array of {id, likes, replies}
--
-- returns  the updated rows
UPDATE comments AS c
SET like_count = c.like_count + (r.value ->> 'likes'), reply_count = c.reply_count + (r.value ->> 'replies'), version = c.version + 1
FROM json_each($1) AS r
WHERE c.id = r.value ->> 'id'
RETURNING id, note_id, author_id, root_id, parent_id, content, like_count, reply_count, version, created_at
