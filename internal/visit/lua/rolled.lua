-- rolled: forget that days are to be rolled up, of those that nobody flushed since they
-- were read. Looking and removing are one step: a flush between them would be forgotten.
--
-- KEYS[1]  visit:dirty   sorted set: SHOP:DAY by the microsecond of its last flush
-- ARGV     member and score as it was read, in turns
--
-- returns  how many were removed
--
-- One key. O(n log m) for n members, of which the caller names 100 at most.
local removed = 0
for i = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    removed = removed + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return removed
