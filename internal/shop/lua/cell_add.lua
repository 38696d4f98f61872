-- cell_add: adds committed shops to an existing GEO cell, and to a draft of it. A cell in
-- neither form stays missing: a reader rebuilds it from the rows, which hold these shops.
--
-- KEYS[1]  shop:geo:KIND:{CELL}     zset (GEO), members ID:HASH and the marks
-- KEYS[2]  shop:geo:KIND:{CELL}:b   zset (GEO), draft of the cell
-- ARGV[1]  maximum members of a cell
-- ARGV[2…] longitude, latitude, member, repeated; degrees
--
-- returns  0 missing   1 added   2 split: add to the cells one character longer
--          3 too many members: dropped, the rebuild splits it
--
-- Both keys share the hash tag {CELL}: one slot. O(log n) for each shop.
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('GEOADD', KEYS[2], unpack(ARGV, 2))
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
if redis.call('ZSCORE', KEYS[1], 'split') then
  return 2
end
redis.call('GEOADD', KEYS[1], unpack(ARGV, 2))
if redis.call('ZCARD', KEYS[1]) > tonumber(ARGV[1]) then
  redis.call('UNLINK', KEYS[1])
  return 3
end
return 1
