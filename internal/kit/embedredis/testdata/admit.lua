-- admit: a small flash sale, like Tandian's most frequent script.
--
-- KEYS[1]  stock    string, remaining stock
-- KEYS[2]  buyers   hash, user id -> order id
-- KEYS[3]  orders   stream
-- ARGV[1]  user id
-- ARGV[2]  order id
--
-- returns  {1, order id} admitted   {0} sold out   {-1, order id} already bought   {-2} not loaded
local mine = redis.call('HGET', KEYS[2], ARGV[1])
if mine then
  return {-1, mine}
end
local stock = tonumber(redis.call('GET', KEYS[1]))
if not stock then
  return {-2}
end
if stock <= 0 then
  return {0}
end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'order', ARGV[2])
return {1, ARGV[2]}
