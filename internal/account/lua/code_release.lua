-- code_release: give back a turn that code_reserve granted and that no code came of.
-- The phone's code of before stays.
--
-- KEYS[1]  code-limit:{P}:pause   string: the turn
-- KEYS[2]  code-limit:{P}:day     counter
-- ARGV[1]  the word for this turn
--
-- returns  1 given back   0 it is over, or another one's
--
-- All keys share the hash tag {P}: one slot. O(1).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then
  redis.call('DECR', KEYS[2])
end
return 1
