--  count: read the counters of a sale at one moment.
--
--  KEYS[1]  meta of the sale: hash
--  KEYS[2]  stock: string
--  KEYS[3…] all buckets of buyers: hashes
--
--  returns  { 1 if meta and stock exist, else 0; buyers; stock; initial stock; edit number }
--  slot     one
--  cost     O(buckets)
local meta = redis.call('HMGET', KEYS[1], 'initial', 'seq')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
local buyers = 0
for i = 3, #KEYS do
  buyers = buyers + redis.call('HLEN', KEYS[i])
end
local there = 0
if stock and meta[1] and meta[2] then
  there = 1
end
return { there, buyers, stock or 0, tonumber(meta[1] or '0') or 0, tonumber(meta[2] or '0') or 0 }
