-- unlock: give a lock back, if it is still the caller's.
--
-- KEYS[1]  lock: string, a word of its holder
-- ARGV[1]  the caller's word
--
-- returns  1 given back   0 it is not the caller's
--
-- One key. O(1).
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
