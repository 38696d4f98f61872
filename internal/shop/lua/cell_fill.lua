-- cell_fill: put a part of the rows into a cell that is being rebuilt.
--
-- KEYS[1]  shop:geo:KIND:{CELL}:b   zset (GEO), begun by the builder
-- ARGV[1]  milliseconds that the draft may live from now
-- ARGV[2…] longitude, latitude, member, repeated; degrees
--
-- returns  1 filled   0 the draft is gone (expired, or published by another)
--
-- One key. O(log n) for each shop.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('GEOADD', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
