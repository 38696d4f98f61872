-- code_reserve: reserve the right to send a login code to a phone. It rejects the request
-- if a code was sent within the pause, or a counter of the day is full.
--
-- KEYS[1]      code-limit:{P}:pause or code-limit:{P}:device:D:pause   string: reservation
-- KEYS[i > 1]  code-limit:{P}:day, code-limit:{P}:network:A:day or
--              code-limit:{P}:device:D:day   counter
-- ARGV[1]      random name of this reservation
-- ARGV[2]      pause between two codes, milliseconds
-- ARGV[3]      lifetime of the counters from the first code, milliseconds
-- ARGV[2 + i]  limit of KEYS[i]
--
-- returns  0 reserved   n>0 rejected; retry in n milliseconds
--
-- All keys share the hash tag {P}: one slot. O(keys).
if redis.call('EXISTS', KEYS[1]) == 1 then
  return math.max(redis.call('PTTL', KEYS[1]), 1)
end
for i = 2, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 + i]) then
    return math.max(redis.call('PTTL', KEYS[i]), 1)
  end
end
for i = 2, #KEYS do
  if redis.call('INCR', KEYS[i]) == 1 then
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
  end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0
