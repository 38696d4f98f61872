-- counts: set the follower counts of users with consecutive ids.
--
-- $1  first user
-- $2  number of users
-- $3  followers of each
UPDATE users SET follower_count = $3, version = version + 1 WHERE id >= $1::bigint AND id < $1::bigint + $2::bigint
