-- cell_publish: replaces a cell by its draft.
--
-- KEYS[1]  shop:geo:KIND:{CELL}     zset (GEO), replaced
-- KEYS[2]  shop:geo:KIND:{CELL}:b   zset (GEO), complete, with the mark "built"
-- ARGV[1]  draft number: the score of its mark "built"
-- ARGV[2]  maximum members of a cell
-- ARGV[3]  TTL of a cell without shops, milliseconds
-- ARGV[4]  TTL of a cell with shops, or of the mark of a split, milliseconds
-- ARGV[5]  "split" if the builder found more rows than fit, else ""
--
-- returns  0 no such draft: rebuild the cell if it is missing
--          1 published   2 published as split
--
-- Both keys share the hash tag {CELL}: one slot. O(1); UNLINK frees in the background.
local number = redis.call('ZSCORE', KEYS[2], 'built')
if not number or tonumber(number) ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('UNLINK', KEYS[1])
if ARGV[5] == 'split' or redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[2]) then
  redis.call('UNLINK', KEYS[2])
  redis.call('ZADD', KEYS[1], 0, 'built', 0, 'split')
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return 2
end
redis.call('RENAME', KEYS[2], KEYS[1])
if redis.call('ZCARD', KEYS[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
