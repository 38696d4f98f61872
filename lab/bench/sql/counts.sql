-- counts: say how many follow some users with consecutive ids.
--
-- $1  the first of them
-- $2  how many
-- $3  how many follow each
UPDATE users SET follower_count = $3, version = version + 1 WHERE id >= $1::bigint AND id < $1::bigint + $2::bigint
