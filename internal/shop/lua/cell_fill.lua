-- cell_fill: adds a batch of rows to the draft of a cell.
--
-- KEYS[1]  shop:geo:KIND:{CELL}:b   zset (GEO), begun by the builder
-- ARGV[1]  draft number: the score of its mark "built"
-- ARGV[2]  TTL of the draft, milliseconds
-- ARGV[3…] longitude, latitude, member, repeated; degrees
--
-- returns  1 filled   0 no such draft (expired, or published by another process)
--
-- One key. O(log n) for each shop.
local number = redis.call('ZSCORE', KEYS[1], 'built')
if not number or tonumber(number) ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('GEOADD', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
