--  release: uncount one write of take, if its counter exists. It never creates a counter,
--  which would have no expiry.
--
--  KEYS[1]  quota:{U}:notes, quota:{U}:comments and the other kinds   counter
--
--  returns  1 uncounted   0 no counter
--  slot     one
--  cost     O(1)
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then
  redis.call('DECR', KEYS[1])
  return 1
end
return 0
