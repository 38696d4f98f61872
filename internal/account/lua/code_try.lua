-- code_try: count one more guess at a phone's code, and give out the code to be
-- compared, in constant time, by the caller. Counting comes first: of guesses
-- that arrive together no more than the allowed number is ever compared.
--
-- KEYS[1]  code:{P}   hash: code, tries
-- ARGV[1]  most guesses
--
-- returns  the code   0 there is none   1 it is dead: guessed at too often
--
-- One key. O(1).
local code = redis.call('HGET', KEYS[1], 'code')
if not code then
  return 0
end
if redis.call('HINCRBY', KEYS[1], 'tries', 1) > tonumber(ARGV[1]) then
  return 1
end
return code
