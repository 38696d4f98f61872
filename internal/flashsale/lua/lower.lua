--  lower: take units out of a sale, before the database does, if enough are left.
--
--  KEYS[1]  meta of the sale: hash
--  KEYS[2]  stock: string
--  ARGV[1]  units
--  ARGV[2]  edit number
--
--  returns  done, also if it was done before
--           refused: fewer are left, or a later edit is here
--           missing: no meta or stock
--  slot     one
--  cost     O(1)
--
--  An edit that failed without restore leaves its number to the next edit. The field "by" of
--  meta has the units that it took. The next edit moves only the difference, up or down.
--  Idempotent.
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
