-- extend: give a lock its whole life again.
--
-- KEYS[1]  the lock
-- ARGV[1]  value of its holder
-- ARGV[2]  life, milliseconds
--
-- returns  1, 0 if it is not the holder's any more. It is never set anew: somebody
--          may have held it and given it up in between.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
