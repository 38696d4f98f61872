-- unlock: delete a lock if it is still its holder's; the script that everybody
-- writes, to compare with. (UNLINK costs a small key what DEL does.)
--
-- KEYS[1]  the lock: a string, the value of its holder
-- ARGV[1]  value of its holder
--
-- returns  1, 0 if it is not the holder's any more
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('UNLINK', KEYS[1])
end
return 0
