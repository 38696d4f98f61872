-- counts: how many notes users have by their rows, and by the notes.
--
-- $1  the id behind which the page begins
-- $2  how many users
--
-- returns  user, what the row says, what there is
SELECT u.id, u.note_count, (SELECT count(*) FROM notes AS n WHERE n.author_id = u.id AND n.deleted_at IS NULL)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
