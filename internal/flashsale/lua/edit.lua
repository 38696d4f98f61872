--  edit: update a sale to its row. The stock changes by as much as the initial stock.
--
--  KEYS[1]  meta of the sale: hash
--  KEYS[2]  stock: string
--  ARGV[1]  initial stock
--  ARGV[2]  begin, milliseconds
--  ARGV[3]  end, milliseconds
--  ARGV[4]  '1' on sale, '0' not
--  ARGV[5]  edit number of the row
--  ARGV[6]  '1' to revert a later edit that was never stored; else '0'
--
--  returns  done; refused: a later edit is here; missing: no meta or stock
--  slot     one
--  cost     O(1)
--
--  Idempotent.
local meta = redis.call('HMGET', KEYS[1], 'initial', 'seq')
if not (meta[1] and meta[2]) or redis.call('EXISTS', KEYS[2]) == 0 then
  return 'missing'
end
if tonumber(meta[2]) > tonumber(ARGV[5]) and ARGV[6] ~= '1' then
  return 'refused'
end
local more = tonumber(ARGV[1]) - tonumber(meta[1])
if more ~= 0 then
  redis.call('INCRBY', KEYS[2], string.format('%.0f', more))
end
redis.call('HSET', KEYS[1], 'initial', ARGV[1], 'begin', ARGV[2], 'end', ARGV[3], 'on', ARGV[4], 'seq', ARGV[5])
redis.call('HDEL', KEYS[1], 'by')
return 'done'
