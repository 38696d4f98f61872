--  tidy: remove idle consumers from a stream's group. Each start of a process adds one with
--  a new name.
--
--  KEYS[1]  stream of orders of the partition
--  ARGV[1]  group
--  ARGV[2]  minimum idle time of a consumer, milliseconds
--
--  returns  number of removed consumers
--
--  A consumer with entries stays until they are taken over. The next read of a live consumer
--  adds it again. The group must exist.
--  slot     one
--  cost     O(consumers)
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
