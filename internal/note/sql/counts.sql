-- counts: reads the stored and the actual note counts of a page of users.
--
-- $1  user id before the page
-- $2  number of users
--
-- returns  user, stored count, actual count
SELECT u.id, u.note_count, (SELECT count(*) FROM notes AS n WHERE n.author_id = u.id AND n.deleted_at IS NULL)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
