-- put_back: return the pending messages of a consumer to its queue, the oldest to be read first,
-- unless the consumer has renewed its mark. A consumer that was only slow returns with its next
-- mark; its pending messages are then handled twice.
--
-- KEYS[1]  mark of the consumer, string that expires
-- KEYS[2]  its pending messages, list, the newest on the left
-- KEYS[3]  the queue, list, read from the right
-- KEYS[4]  consumers, set
-- ARGV[1]  the consumer's name
--
-- returns  number of returned messages
-- slot     one
-- cost     O(pending messages)
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
local n = 0
while redis.call('LMOVE', KEYS[2], KEYS[3], 'LEFT', 'RIGHT') do
  n = n + 1
end
redis.call('SREM', KEYS[4], ARGV[1])
return n
