-- unlock: delete a lock if its holder still has it. Every recipe has this script.
--
-- KEYS[1]  the lock: a string, the value of its holder
-- ARGV[1]  value of its holder
--
-- returns  1, or 0 if the lock is free or has another holder
-- slot     one
-- cost     O(1)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('UNLINK', KEYS[1])
end
return 0
