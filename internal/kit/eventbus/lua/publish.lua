-- publish: append messages to the bus, at dense positions and chained, so that
-- who follows can prove that nothing was left out.
--
-- KEYS[1]  <prefix>:bus  stream; an entry has the fields t (topic), b (body),
--          m (mark) and p (mark of the entry before, '' of the first)
-- ARGV[1]  entries that the stream keeps, at least 1; up to a hundred more may
--          be there, because Redis drops them by whole nodes
-- ARGV[2]  salt: random bytes of this call
-- ARGV[3]  topic of the first message
-- ARGV[4]  its body, and so on: two arguments for each message
--
-- returns  the id of the last entry
--
-- Ids are EPOCH-N: the time at which the stream was begun, in milliseconds, and
-- 1, 2, 3 … A mark is a hash over the marks before it: two entries with the same
-- mark have the same past, also where a replica that was behind became the master
-- and gave the same numbers out again.
--
-- An emptied stream is begun anew, and removed first: it would refuse an id below
-- its last one, should the clock have gone back.
--
-- A Redis whose memory is full refuses scripts what takes more, unless they have
-- begun to write. It still answers who follows: what is not said would be believed
-- for long. So this begins with a write that changes nothing.
--
-- One slot. O(messages). The key has no life: it is bounded by ARGV[1].
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
