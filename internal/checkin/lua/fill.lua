-- fill: complete the bitmaps of some months of one user by what their rows had, and mark
-- them as whole. It only adds bits. So a reader who has been slow since he read the row
-- takes no day back that was told meanwhile, and to repeat it does no harm.
--
-- KEYS[i]      checkin:{U}:YYYYMM   bitmap: bit 0 is the mark "whole", bits 1 to 31 are days
-- KEYS[1]      is the first of them; there are 13 at most
-- ARGV[1]      least life of a bitmap with days, milliseconds
-- ARGV[2]      least life of one without, milliseconds
-- ARGV[2 + i]  days of KEYS[i]: the sum of 2^d for each day d
--
-- returns  how many bitmaps were filled
--
-- All keys share the hash tag {U}: one slot. 34 commands of O(1) for each key.
for i, key in ipairs(KEYS) do
  local days = tonumber(ARGV[2 + i])
  local life = days > 0 and ARGV[1] or ARGV[2]
  for day = 1, 31 do
    if math.floor(days / 2 ^ day) % 2 == 1 then
      redis.call('SETBIT', key, day, 1)
    end
  end
  redis.call('SETBIT', key, 0, 1)
  if redis.call('PTTL', key) < tonumber(life) then
    redis.call('PEXPIRE', key, life)
  end
end
return #KEYS
