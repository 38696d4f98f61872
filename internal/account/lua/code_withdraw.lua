-- code_withdraw: delete a code that was certainly not sent, with its reservation and
-- counts.
--
-- KEYS[1]      code:{P} or code:{P}:device:D   hash: code, tries, tries of each client
-- KEYS[2]      code-limit:{P}:pause or code-limit:{P}:device:D:pause   string
-- KEYS[i > 2]  the counters of code_reserve   counter
-- ARGV[1]      the unsent code
--
-- returns  1 deleted   0 the phone has another code
--
-- All keys share the hash tag {P}: one slot. O(keys).
if redis.call('HGET', KEYS[1], 'code') ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
for i = 3, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then
    redis.call('DECR', KEYS[i])
  end
end
return 1
