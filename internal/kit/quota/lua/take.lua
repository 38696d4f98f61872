-- take: count one write of a user, unless the hourly limit is reached. Counter
-- and expiry are one step, so no counter lives longer than its hour.
--
-- KEYS[1]  quota:{U}:notes, quota:{U}:comments and the other kinds   counter
-- ARGV[1]  limit in one life of the counter
-- ARGV[2]  life of the counter from its first write, milliseconds
--
-- returns  the number of the write, 0 if the limit is reached; and how long the
--          counter still lives, milliseconds
--
-- One key. O(1).
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n >= tonumber(ARGV[1]) then
  return {0, math.max(redis.call('PTTL', KEYS[1]), 1)}
end
n = redis.call('INCR', KEYS[1])
if redis.call('PTTL', KEYS[1]) < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {n, math.max(redis.call('PTTL', KEYS[1]), 1)}
