-- session: a session that is not over.
--
-- $1  its id
-- $2  now
-- $3  sessions that began before this time are over
--
-- returns  its user, when it ends unless it is used, when it began, when it was last used
--          (null in rows of earlier versions)
SELECT user_id, expires_at, created_at, used_at FROM sessions
WHERE id = $1 AND ended_at IS NULL AND expires_at > $2 AND created_at > $3
