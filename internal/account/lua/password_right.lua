-- password_right: clear the wrong passwords of a client that sent the right one. The
-- counter of the phone loses only this try; guesses of other clients remain.
--
-- KEYS[1]  password-tries:{P}:network:A or password-tries:{P}:device:D   counter
-- KEYS[2]  password-tries:{P}   counter; absent for a device
--
-- returns  1
--
-- All keys share the hash tag {P}: one slot. O(1).
redis.call('DEL', KEYS[1])
if KEYS[2] and tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then
  redis.call('DECR', KEYS[2])
end
return 1
