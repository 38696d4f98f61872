-- code_try: count a guess at a phone's code, and return the code. The caller compares
-- it in constant time. Counting comes first, so concurrent guesses stay below the limits.
--
-- A known device guesses at its own code if it has one, else at the code of the phone.
--
-- KEYS[1]  code:{P}                hash: code, tries, tries of each client
-- KEYS[2]  code-limit:{P}:guesses  counter: guesses at codes in KEYS[1] in a day
-- KEYS[3]  code:{P}:device:D       hash, as KEYS[1]; absent for an unknown client
-- ARGV[1]  name of the client in KEYS[1]
-- ARGV[2]  limit of guesses of one client at one code
-- ARGV[3]  limit of guesses of all clients at one code
-- ARGV[4]  limit of KEYS[2]
-- ARGV[5]  lifetime of KEYS[2] from the first guess, milliseconds
--
-- returns  the code   0 no code   1 too many guesses
--
-- All keys share the hash tag {P}: one slot. O(1).
local own = KEYS[3] and redis.call('HGET', KEYS[3], 'code')
if own then
  if redis.call('HINCRBY', KEYS[3], 'tries', 1) > tonumber(ARGV[2]) then
    return 1
  end
  return own
end
local code = redis.call('HGET', KEYS[1], 'code')
if not code then
  return 0
end
local tried = redis.call('HMGET', KEYS[1], 'tries', ARGV[1])
if tonumber(tried[1] or '0') >= tonumber(ARGV[3]) or tonumber(tried[2] or '0') >= tonumber(ARGV[2]) then
  return 1
end
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[4]) then
  return 1
end
redis.call('HINCRBY', KEYS[1], 'tries', 1)
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
if redis.call('INCR', KEYS[2]) == 1 then
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
return code
