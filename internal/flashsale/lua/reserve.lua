-- reserve: the first of the pair of moves. Who has no order of the sale gets one:
-- the buyer is entered and a piece taken from the stock, even below nothing.
--
-- KEYS[1]  stock of the sale: string
-- KEYS[2]  a bucket of its buyers: hash, user -> order
-- ARGV     user, order, user, order … of at most 500 orders
--
-- returns  how many were entered
--
-- A stock that is missing stays so: whoever sets it counts the buyers. It may be
-- repeated. Both keys share the tag {pN}: one slot. O(orders).
local moved = 0
for i = 1, #ARGV, 2 do
  moved = moved + redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1])
end
if moved > 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('DECRBY', KEYS[1], moved)
end
return moved
