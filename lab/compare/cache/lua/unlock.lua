-- unlock: delete a lock if the caller holds it.
--
-- KEYS[1]  <prefix>lock:<k>  string, token of the holder
-- ARGV[1]  token of the caller
--
-- returns  1 released   0 it expired, or another process holds it
-- slot     one
-- cost     O(1)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
