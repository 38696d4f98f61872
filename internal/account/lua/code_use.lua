-- code_use: consume a code after a right guess. Of several concurrent clients, one
-- succeeds. A right guess is removed from the count of the day.
--
-- KEYS[1]  code:{P}                hash: code, tries, tries of each client
-- KEYS[2]  code-limit:{P}:guesses  counter
-- KEYS[3]  code:{P}:device:D       hash, as KEYS[1]; absent for an unknown client
-- ARGV[1]  the code
--
-- returns  1 used   0 already used, or replaced
--
-- All keys share the hash tag {P}: one slot. O(1).
if KEYS[3] and redis.call('HGET', KEYS[3], 'code') == ARGV[1] then
  return redis.call('DEL', KEYS[3])
end
if redis.call('HGET', KEYS[1], 'code') ~= ARGV[1] then
  return 0
end
if tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then
  redis.call('DECR', KEYS[2])
end
return redis.call('DEL', KEYS[1])
