-- unlock: give a lock back if it is still ours.
--
-- KEYS[1]  <prefix>lock:<name>  string, what the holder set
-- ARGV[1]  what the caller set
--
-- returns  1 given back   0 it expired, or another holds it
--
-- One key: one slot. O(1).
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
