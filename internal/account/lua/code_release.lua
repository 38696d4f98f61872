-- code_release: release a reservation of code_reserve for which no code was sent. The
-- previous code of the phone stays valid.
--
-- KEYS[1]      code-limit:{P}:pause or code-limit:{P}:device:D:pause   string: reservation
-- KEYS[i > 1]  the counters of code_reserve   counter
-- ARGV[1]      name of this reservation
--
-- returns  1 released   0 it has expired, or there is another reservation
--
-- All keys share the hash tag {P}: one slot. O(keys).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
for i = 2, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then
    redis.call('DECR', KEYS[i])
  end
end
return 1
