-- unlock: delete a lock if the caller holds it.
--
-- KEYS[1]  lock: string, token of its holder
-- ARGV[1]  token of the caller
--
-- returns  1 released   0 the caller does not hold it
-- slot     one
-- cost     O(1)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
