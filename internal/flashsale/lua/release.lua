-- release: the second of the pair of moves. Who has exactly this order of the sale
-- loses it: the buyer is removed and the piece goes back into the stock.
--
-- KEYS[1]  stock of the sale: string
-- KEYS[2]  a bucket of its buyers: hash, user -> order
-- ARGV     user, order, user, order … of at most 500 orders
--
-- returns  how many were removed
--
-- A stock that is missing stays so: whoever sets it counts the buyers. It may be
-- repeated. Both keys share the tag {pN}: one slot. O(orders).
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
