--  settle: set the stock to initial stock less buyers, if it differs.
--
--  KEYS[1]  meta of the sale: hash
--  KEYS[2]  stock: string
--  KEYS[3…] all buckets of buyers: hashes
--
--  returns  excess of the stock as a string, '0' if it was right; '' if meta or stock is
--           missing
--  slot     one
--  cost     O(buckets)
local initial = tonumber(redis.call('HGET', KEYS[1], 'initial') or '')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
if not (initial and stock) then
  return ''
end
local left = initial
for i = 3, #KEYS do
  left = left - redis.call('HLEN', KEYS[i])
end
if left ~= stock then
  redis.call('SET', KEYS[2], string.format('%.0f', left))
end
return string.format('%.0f', stock - left)
