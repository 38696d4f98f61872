--  release: remove buyers that have exactly these orders of a sale, and return their units to
--  the stock.
--
--  KEYS[1]  stock of the sale: string
--  KEYS[2]  one bucket of buyers: hash, user -> order
--  ARGV     user, order, user, order … of at most 500 orders
--
--  returns  number of removed buyers
--  slot     one
--  cost     O(orders)
--
--  A missing stock stays missing: a later open counts the buyers. Idempotent.
local moved = 0
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then
    moved = moved + redis.call('HDEL', KEYS[2], ARGV[i])
  end
end
if moved > 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('INCRBY', KEYS[1], moved)
end
return moved
