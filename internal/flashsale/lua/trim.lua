--  trim: acknowledge decided entries of a stream and delete them, with the entries of their
--  orders. If no earlier entry waits for its decision, XTRIM deletes whole nodes. XDEL has to
--  search the node of each entry.
--
--  KEYS[1]  stream of orders of the partition
--  KEYS[2…] entries of orders, by number: hashes
--  ARGV[1]  group
--  ARGV[2]  milliseconds after its delivery until an undecided entry no longer delays the
--           deletion of later ones
--  ARGV[3…] the entries, 1 to 1000, in stream order
--
--  returns  nothing
--  slot     one
--  cost     O(deleted entries); each is searched while an earlier one is late
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3))
if #KEYS > 1 then
  redis.call('UNLINK', unpack(KEYS, 2))
end
local oldest = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)
if oldest[1] then
  redis.call('XTRIM', KEYS[1], 'MINID', oldest[1][1])
  if oldest[1][3] < tonumber(ARGV[2]) then
    return -- the deletion of the oldest entry includes these
  end
elseif not oldest.err then -- the group exists
  -- The limit is the last entry that this server has delivered. The caller may have read a
  -- later one from a server that died before this one replicated it.
  local lastMs, lastN = string.match(ARGV[#ARGV], '^(%d+)-(%d+)$')
  for _, g in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local of = {}
    for i = 1, #g, 2 do
      of[g[i]] = g[i + 1]
    end
    local ms, n = string.match(of['last-delivered-id'], '^(%d+)-(%d+)$')
    if of.name == ARGV[1] and ms then
      redis.call('XTRIM', KEYS[1], 'MINID', ms .. '-' .. string.format('%.0f', n + 1))
      if tonumber(lastMs) < tonumber(ms) or lastMs == ms and tonumber(lastN) <= tonumber(n) then
        return
      end
    end
  end
end
for i = 3, #ARGV do
  redis.call('XDEL', KEYS[1], ARGV[i])
end
