-- code_use: use up a code that was guessed right. Of several who know it, one
-- gets in.
--
-- KEYS[1]  code:{P}   hash: code, tries
-- ARGV[1]  the code
--
-- returns  1 used   0 somebody was faster, or there is another one by now
--
-- One key. O(1).
if redis.call('HGET', KEYS[1], 'code') ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
