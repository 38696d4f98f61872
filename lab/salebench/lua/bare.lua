-- bare: the minimum that any sale does to admit a buyer. It does not check for earlier purchases,
-- nor whether the sale is open.
--
-- KEYS[1]  string: stock
-- KEYS[2]  hash: user to order
-- KEYS[3]  stream: orders to store
-- ARGV[1]  user
-- ARGV[2]  order
--
-- returns  stock that is left
-- slot     one
-- cost     O(1)
local left = redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'o', ARGV[2], 'u', ARGV[1])
return left
