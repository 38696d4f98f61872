-- code_withdraw: forget a code that could not be sent, so that its phone need
-- not wait for the next one. The day's count stays: the sender may have been
-- slow and not dead.
--
-- KEYS[1]  code:{P}               hash: code, tries
-- KEYS[2]  code-limit:{P}:pause   string
-- ARGV[1]  the code that was not sent
--
-- returns  1 forgotten   0 the phone has another one by now
--
-- Both keys share the hash tag {P}: one slot. O(1).
if redis.call('HGET', KEYS[1], 'code') ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
