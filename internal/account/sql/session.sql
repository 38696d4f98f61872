-- session: read a live session.
--
-- $1  its id
-- $2  now
-- $3  sessions that began before this time have ended
--
-- returns  user, expiry, beginning, last use (null in rows of earlier versions)
SELECT user_id, expires_at, created_at, used_at FROM sessions
WHERE id = $1 AND ended_at IS NULL AND expires_at > $2 AND created_at > $3
