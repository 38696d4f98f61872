--  open: set meta and stock of a sale that is incomplete, the stock to initial stock less
--  buyers. The caller adds the buyers first.
--
--  KEYS[1]  meta of the sale: hash
--  KEYS[2]  stock: string
--  KEYS[3…] all buckets of buyers: hashes
--  ARGV[1]  initial stock
--  ARGV[2]  begin, milliseconds
--  ARGV[3]  end, milliseconds
--  ARGV[4]  '1' on sale, '0' not
--  ARGV[5]  edit number of the row
--
--  returns  done; complete: nothing was changed
--  slot     one
--  cost     O(buckets)
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 2 then
  return 'complete'
end
local buyers = 0
for i = 3, #KEYS do
  buyers = buyers + redis.call('HLEN', KEYS[i])
end
redis.call('HSET', KEYS[1], 'initial', ARGV[1], 'begin', ARGV[2], 'end', ARGV[3], 'on', ARGV[4], 'seq', ARGV[5])
redis.call('HDEL', KEYS[1], 'by')
redis.call('SET', KEYS[2], string.format('%.0f', ARGV[1] - buyers))
return 'done'
