-- count: add to counters with limits, unless one of them is full. It checks all counters
-- before it changes one. A counter gets its expiry in the same step.
--
-- KEYS[1], KEYS[i]  login-limit:{A}, login-limit:{A}:network:A, code-limit:{A}:address,
--                   code-limit:{A}:address:A, code-limit:hour, code-limit:guesses-hour,
--                   password-tries:{P}, password-tries:{P}:network:A,
--                   password-tries:{P}:device:D, password-sets:{U}   counter
-- ARGV[1]           number to add; 0 checks only
-- ARGV[2i]          limit of KEYS[i]
-- ARGV[2i + 1]      lifetime of KEYS[i] from the first count, milliseconds
--
-- returns  0 counted   n>0 a counter is full, none changed; retry in n milliseconds
--
-- All keys share one hash tag: one slot. O(keys).
local wait = 0
for i = 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 * i]) then
    wait = math.max(wait, redis.call('PTTL', KEYS[i]), 1)
  end
end
if wait > 0 or ARGV[1] == '0' then
  return wait
end
for i = 1, #KEYS do
  redis.call('INCRBY', KEYS[i], ARGV[1])
  if redis.call('PTTL', KEYS[i]) < 0 then
    redis.call('PEXPIRE', KEYS[i], ARGV[2 * i + 1])
  end
end
return 0
