--  restore: revert lower, for an edit that was not stored.
--
--  KEYS[1]  meta of the sale: hash
--  KEYS[2]  stock: string
--  ARGV[1]  units
--  ARGV[2]  edit number
--
--  returns  done
--           refused: the last edit here is another one, or it took other units because the
--                    next edit reuses the number, or it was stored meanwhile
--           missing: no meta or stock
--  slot     one
--  cost     O(1)
--
--  Idempotent.
local meta = redis.call('HMGET', KEYS[1], 'initial', 'seq', 'by')
if not (meta[1] and meta[2]) or redis.call('EXISTS', KEYS[2]) == 0 then
  return 'missing'
end
if tonumber(meta[2]) ~= tonumber(ARGV[2]) or tonumber(meta[3] or '') ~= tonumber(ARGV[1]) then
  return 'refused'
end
redis.call('HSET', KEYS[1], 'initial', string.format('%.0f', meta[1] + ARGV[1]), 'seq', string.format('%.0f', ARGV[2] - 1))
redis.call('HDEL', KEYS[1], 'by')
redis.call('INCRBY', KEYS[2], ARGV[1])
return 'done'
