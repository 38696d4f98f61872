-- session: a session that is not over.
--
-- $1  its id
-- $2  now
--
-- returns  its user, when it ends
SELECT user_id, expires_at FROM sessions
WHERE id = $1 AND ended_at IS NULL AND expires_at > $2
