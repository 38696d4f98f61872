--  reserve: add buyers without an order of a sale, and take their units from the stock, even
--  below 0.
--
--  KEYS[1]  stock of the sale: string
--  KEYS[2]  one bucket of buyers: hash, user -> order
--  ARGV     user, order, user, order … of at most 500 orders
--
--  returns  number of added buyers
--  slot     one
--  cost     O(orders)
--
--  A missing stock stays missing: a later open counts the buyers. Idempotent.
local moved = 0
for i = 1, #ARGV, 2 do
  moved = moved + redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1])
end
if moved > 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('DECRBY', KEYS[1], moved)
end
return moved
