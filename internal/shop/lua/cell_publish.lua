-- cell_publish: make a rebuilt cell the one that is read.
--
-- KEYS[1]  shop:geo:KIND:{CELL}     zset (GEO), replaced
-- KEYS[2]  shop:geo:KIND:{CELL}:b   zset (GEO), complete, with the mark "built"
-- ARGV[1]  number of the draft: the score of its mark "built"
-- ARGV[2]  most members of a cell
-- ARGV[3]  milliseconds that a cell without shops lives
-- ARGV[4]  milliseconds that a cell with shops lives, or the mark of a split
-- ARGV[5]  "split" if the builder found more rows than fit, else ""
--
-- returns  0 this draft is gone: begin anew if the cell is missing
--          1 published   2 published as split
--
-- Both keys share the hash tag {CELL}: one slot. O(1); UNLINK frees elsewhere.
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
