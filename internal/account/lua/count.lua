-- count: count one more of what is limited, unless it is one too many. Counter
-- and expiry are one step: a counter without an expiry would refuse for ever.
--
-- KEYS[1]  code-limit:{A}:address, code-limit:hour, login-limit:{A},
--          password-tries:{P}, password-sets:{U}   counter
-- ARGV[1]  most in one life of the counter
-- ARGV[2]  life of the counter from the first on, milliseconds
--
-- returns  0 counted   n>0 one too many, not counted; there is room in n milliseconds
--
-- One key. O(1).
if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[1]) then
  return math.max(redis.call('PTTL', KEYS[1]), 1)
end
redis.call('INCR', KEYS[1])
if redis.call('PTTL', KEYS[1]) < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
