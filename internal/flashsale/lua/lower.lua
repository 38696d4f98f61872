-- lower: take pieces out of a sale, before the database does, if so many are left.
--
-- KEYS[1]  meta of the sale: hash
-- KEYS[2]  its stock: string
-- ARGV[1]  pieces
-- ARGV[2]  number of the edit
--
-- returns  done, also before; refused: not so many are left, or a later edit is here; missing: meta or stock
--
-- An edit that failed, and whose pieces were not restored, leaves its number to the next
-- one: what it took is in meta as "by", and the next moves the difference alone, in either
-- direction. It may be repeated. Both keys share the tag {pN}: one slot. O(1).
local meta = redis.call('HMGET', KEYS[1], 'initial', 'seq', 'by')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
if not (stock and meta[1] and meta[2]) then
  return 'missing'
end
local seq, edit, more = tonumber(meta[2]), tonumber(ARGV[2]), tonumber(ARGV[1])
if seq == edit then
  more = more - tonumber(meta[3] or ARGV[1])
end
if seq == edit and more == 0 then
  return 'done'
end
if seq > edit or more > 0 and stock < more then
  return 'refused'
end
redis.call('HSET', KEYS[1], 'initial', string.format('%.0f', meta[1] - more), 'seq', ARGV[2], 'by', ARGV[1])
redis.call('DECRBY', KEYS[2], string.format('%.0f', more))
return 'done'
