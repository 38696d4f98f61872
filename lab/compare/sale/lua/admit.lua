-- admit: take items of a sale for a user without an order, all or none, and queue the order.
--
-- KEYS[1]  stock: string
-- KEYS[2]  buyers: hash, user -> order
-- KEYS[3]  orders that wait for their row: stream
-- ARGV[1]  user
-- ARGV[2]  order
-- ARGV[3]  quantity
--
-- returns  { decision, order }: 1 admitted, 2 not enough stock (order ''), 3 the user has this
-- order
-- slot     one; nothing expires
-- cost     O(1)
local held = redis.call('HGET', KEYS[2], ARGV[1])
if held then
  return { 3, held }
end
if tonumber(redis.call('GET', KEYS[1])) < tonumber(ARGV[3]) then
  return { 2, '' }
end
redis.call('DECRBY', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'u', ARGV[1], 'o', ARGV[2], 'q', ARGV[3])
return { 1, ARGV[2] }
