-- lower: take pieces out of a sale, before the database does, if so many are left.
--
-- KEYS[1]  meta of the sale: hash
-- KEYS[2]  its stock: string
-- ARGV[1]  pieces
-- ARGV[2]  number of the edit
--
-- returns  1 done, or done before   0 not so many are left, or a later edit is here   -1 meta or stock is missing
--
-- It may be repeated. Both keys share the tag {pN}: one slot. O(1).
local meta = redis.call('HMGET', KEYS[1], 'initial', 'seq')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
if not (stock and meta[1] and meta[2]) then
  return -1
end
local seq, edit, by = tonumber(meta[2]), tonumber(ARGV[2]), tonumber(ARGV[1])
if seq == edit then
  return 1
end
if seq > edit or stock < by then
  return 0
end
redis.call('HSET', KEYS[1], 'initial', string.format('%.0f', meta[1] - by), 'seq', ARGV[2])
redis.call('DECRBY', KEYS[2], ARGV[1])
return 1
