-- take: sell one item to a user, as small as an admission can be.
--
-- KEYS[1]  set of buyers
-- ARGV[1]  user
--
-- returns  1, or 0 if the user has one
-- slot     one
-- cost     O(1)
return redis.call('SADD', KEYS[1], ARGV[1])
