-- trim: acknowledge entries of a partition's stream that are decided, and take them out of
-- it, with what is kept about their orders. Where nothing before them waits for its
-- decision, all up to there goes at once, node by node: an entry that is deleted alone has
-- to be looked for in its node.
--
-- KEYS[1]  the partition's stream of orders
-- KEYS[2…] entries of orders, to be found by number: hashes
-- ARGV[1]  the group of consumers
-- ARGV[2]  milliseconds after which an entry that was delivered and not decided is waited
--          for no longer: entries behind it are deleted alone
-- ARGV[3…] the entries, 1 to 1000, in the order of the stream
--
-- returns  nothing
-- slot     one
-- cost     O(entries that go), each to be looked for while one before them is under way for long
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3))
if #KEYS > 1 then
  redis.call('UNLINK', unpack(KEYS, 2))
end
local oldest = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)
if oldest[1] then
  redis.call('XTRIM', KEYS[1], 'MINID', oldest[1][1])
  if oldest[1][3] < tonumber(ARGV[2]) then
    return -- what ends it takes these too
  end
elseif not oldest.err then -- the group is there
  -- Not up to what the caller read last: that may have been on a server that died, before
  -- this one heard of it.
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
