-- count: what a sale comes to, at one moment.
--
-- KEYS[1]  meta of the sale: hash
-- KEYS[2]  its stock: string
-- KEYS[3]… all buckets of its buyers: hashes
--
-- returns  { 1 meta and stock are there or 0, buyers, stock, initial stock, number of the edit }
--
-- It changes nothing. All keys share the tag {pN}: one slot. O(buckets).
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
