-- users: read the public columns of users.
--
-- $1  their ids
--
-- returns  the columns that fromRow in rows.go needs
SELECT id, phone, nickname, avatar_url, role, city, bio, gender, birthday, points, follower_count, followee_count, note_count, version, created_at FROM users
WHERE id = ANY($1)
