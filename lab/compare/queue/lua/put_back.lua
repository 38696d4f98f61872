-- put_back: put what lies with a consumer back into its queue, the oldest to be read
-- first, unless the consumer has renewed its mark.
--
-- KEYS[1]  mark of the consumer, string that ends
-- KEYS[2]  what it has in hand, list, the newest on the left
-- KEYS[3]  the queue, list, read from the right
-- KEYS[4]  consumers, set
-- ARGV[1]  the consumer's name
--
-- returns  how many were put back
--
-- O(messages in hand). A consumer that was only slow comes back with its next mark;
-- what it had in hand is then handled twice.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
local n = 0
while redis.call('LMOVE', KEYS[2], KEYS[3], 'LEFT', 'RIGHT') do
  n = n + 1
end
redis.call('SREM', KEYS[4], ARGV[1])
return n
