--  take: count one write of a user, unless the hourly limit is reached. The counter always
--  has an expiry.
--
--  KEYS[1]  quota:{U}:notes, quota:{U}:comments and the other kinds   counter
--  ARGV[1]  limit per lifetime of the counter
--  ARGV[2]  lifetime of the counter from its first write, milliseconds
--
--  returns  position of the write, or 0 if the limit is reached; remaining lifetime of the
--           counter, milliseconds
--  slot     one
--  cost     O(1)
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n >= tonumber(ARGV[1]) then
  return {0, math.max(redis.call('PTTL', KEYS[1]), 1)}
end
n = redis.call('INCR', KEYS[1])
if redis.call('PTTL', KEYS[1]) < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {n, math.max(redis.call('PTTL', KEYS[1]), 1)}
