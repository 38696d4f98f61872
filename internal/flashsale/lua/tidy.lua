-- tidy: forget consumers of a stream's group that are gone: each start of a process
-- brings one with a new name.
--
-- KEYS[1]  the partition's stream of orders
-- ARGV[1]  the group
-- ARGV[2]  how long a consumer has asked for nothing, milliseconds
--
-- returns  how many were forgotten
--
-- Who has entries stays until they were taken over. A living one that is forgotten comes
-- back as it reads. The group must be there. One key. O(consumers).
local gone = 0
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local is = {}
  for i = 1, #consumer, 2 do
    is[consumer[i]] = consumer[i + 1]
  end
  if is['pending'] == 0 and is['idle'] >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], is['name'])
    gone = gone + 1
  end
end
return gone
