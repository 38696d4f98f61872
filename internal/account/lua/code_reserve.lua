-- code_reserve: give a phone its turn to get a login code, unless it has had one
-- within the last minute or too many today. The code itself is stored afterwards.
--
-- KEYS[1]  code-limit:{P}:pause   string: the turn, there while no other code may be sent
-- KEYS[2]  code-limit:{P}:day     counter
-- ARGV[1]  a word for this turn
-- ARGV[2]  pause between two codes, milliseconds
-- ARGV[3]  most codes in one life of the counter
-- ARGV[4]  life of the counter from the first code on, milliseconds
--
-- returns  0 granted   n>0 not granted; the phone may have one in n milliseconds
--
-- All keys share the hash tag {P}: one slot. O(1).
if redis.call('EXISTS', KEYS[1]) == 1 then
  return math.max(redis.call('PTTL', KEYS[1]), 1)
end
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[3]) then
  return math.max(redis.call('PTTL', KEYS[2]), 1)
end
if redis.call('INCR', KEYS[2]) == 1 then
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0
