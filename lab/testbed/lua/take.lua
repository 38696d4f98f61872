-- A piece for a user, as small as an admission can be.
--
-- KEYS[1]  set of buyers
-- ARGV[1]  the user
-- returns  1, or 0 for one who has it
-- cost     O(1)
return redis.call('SADD', KEYS[1], ARGV[1])
