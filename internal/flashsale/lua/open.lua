-- open: a sale comes into Redis, or comes back complete: meta and stock are set
-- at once, the stock to what the buyers leave. Whoever rebuilds a sale enters its
-- buyers before.
--
-- KEYS[1]  meta of the sale: hash
-- KEYS[2]  its stock: string
-- KEYS[3]… all buckets of its buyers: hashes
-- ARGV[1]  initial stock
-- ARGV[2]  begin, milliseconds
-- ARGV[3]  end, milliseconds
-- ARGV[4]  '1' on sale, '0' not
-- ARGV[5]  number of the edit that the row has
--
-- returns  done, complete: nothing was done
--
-- All keys share the tag {pN}: one slot. O(buckets).
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
