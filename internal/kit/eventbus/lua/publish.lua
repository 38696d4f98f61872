-- publish: append messages to the bus at dense positions, chained by hashes, so that readers
-- can prove that no message is missing.
--
-- KEYS[1]  <prefix>:bus  stream; an entry has the fields t (topic), b (body),
--          m (mark) and p (mark of the previous entry, '' in the first)
-- ARGV[1]  maximum length of the stream, at least 1; it may be up to a hundred longer,
--          because Redis trims whole nodes
-- ARGV[2]  salt: random bytes of this call
-- ARGV[3]  topic of the first message
-- ARGV[4]  its body, and so on: two arguments for each message
--
-- returns  the id of the last entry
--
-- Ids are EPOCH-N: the creation time of the stream in milliseconds, and 1, 2, 3 and so on.
-- A mark is a hash over the previous marks: entries with the same mark have the same past.
-- This holds also if a replica that was behind became the master and reused numbers.
--
-- An empty stream gets a new epoch. It is removed first: it would refuse an id below its
-- last one if the clock has gone back.
--
-- If the memory of Redis is full, it refuses writes of a script unless the script has
-- written before. Reads still work, so missing messages would stay unnoticed for long.
-- So the script begins with a write that changes nothing.
--
-- One slot. O(messages). The key has no TTL: ARGV[1] limits it.
redis.call('PERSIST', KEYS[1])
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local epoch, n, mark
if last then
  epoch, n = string.match(last[1], '^(%d+)-(%d+)$')
  for i = 1, #last[2], 2 do
    if last[2][i] == 'm' then
      mark = last[2][i + 1]
    end
  end
else
  local now = redis.call('TIME')
  epoch, n = string.format('%.0f', tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)), 0
  redis.call('UNLINK', KEYS[1])
end
mark = mark or ''
local id
for i = 3, #ARGV, 2 do
  n = n + 1
  id = epoch .. '-' .. string.format('%.0f', n)
  local own = string.sub(redis.sha1hex(mark .. ARGV[2]), 1, 16)
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], id, 't', ARGV[i], 'b', ARGV[i + 1], 'm', own, 'p', mark)
  mark = own
end
return id
