-- raise: write the token of a quorum's lock back, so that whoever holds this node
-- next gets a newer one.
--
-- KEYS[1]  the lock
-- KEYS[2]  its fence
-- ARGV[1]  value of the holder
-- ARGV[2]  its token
-- ARGV[3]  life of the fence, milliseconds
--
-- returns  1, 0 if the lock is not the holder's any more
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
if tonumber(redis.call('GET', KEYS[2]) or 0) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
end
return 1
