-- cell_fill: put a part of the rows into a cell that is being rebuilt.
--
-- KEYS[1]  shop:geo:KIND:{CELL}:b   zset (GEO), begun by the builder
-- ARGV[1]  number of the draft: the score of its mark "built"
-- ARGV[2]  milliseconds that the draft may live from now
-- ARGV[3…] longitude, latitude, member, repeated; degrees
--
-- returns  1 filled   0 this draft is gone (expired, or published by another)
--
-- One key. O(log n) for each shop.
local number = redis.call('ZSCORE', KEYS[1], 'built')
if not number or tonumber(number) ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('GEOADD', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
