-- code_withdraw: forget a code that was certainly not sent, as if it had never
-- been asked for.
--
-- KEYS[1]  code:{P}               hash: code, tries
-- KEYS[2]  code-limit:{P}:pause   string
-- KEYS[3]  code-limit:{P}:day     counter
-- ARGV[1]  the code that was not sent
--
-- returns  1 forgotten   0 the phone has another one by now
--
-- All keys share the hash tag {P}: one slot. O(1).
if redis.call('HGET', KEYS[1], 'code') ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
if tonumber(redis.call('GET', KEYS[3]) or '0') > 0 then
  redis.call('DECR', KEYS[3])
end
return 1
