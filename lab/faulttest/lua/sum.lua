-- sum returns the totals of a sale at one moment.
--
-- KEYS[1]  meta of the sale: hash
-- KEYS[2]  its stock: string
-- KEYS[3]… all buckets of its buyers: hashes
--
-- It returns { initial stock, stock, buyers } as numbers, or {} if meta or stock is missing.
-- It writes nothing.
local initial = redis.call('HGET', KEYS[1], 'initial')
local stock = redis.call('GET', KEYS[2])
if not (initial and stock) then
  return {}
end
local buyers = 0
for i = 3, #KEYS do
  buyers = buyers + redis.call('HLEN', KEYS[i])
end
return { tonumber(initial), tonumber(stock), buyers }
