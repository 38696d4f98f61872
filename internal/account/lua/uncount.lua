-- uncount: take back what count counted, if the counter still lives: another one
-- without its expiry must not come to be.
--
-- KEYS[1]  password-tries:{P}, code-limit:{A}:address, code-limit:hour   counter
--
-- returns  1 taken back   0 there was nothing
--
-- One key. O(1).
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then
  redis.call('DECR', KEYS[1])
  return 1
end
return 0
