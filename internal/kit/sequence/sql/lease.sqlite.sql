-- lease: take a segment of a sequence; the first one makes the row.
--
-- $1  name
-- $2  how many numbers, at most 2^26
-- $3  second, since 1970, up to which the caller wants to use them
-- $4  secret of the row, if there is none yet
-- $5  the second, since 1970, from which numbers count
--
-- returns  next, second, secret of the row: the segment ends before next, and its
--          numbers may have no later second than that one
--
-- next is a floor (a second as numbers count it) above 26 bits of a position. A
-- segment that the positions of the cycle do not hold begins another cycle, whose
-- floor is above every second that was ever allowed. What is compared to see that
-- is the cycle of the last position taken, and of the last one to be taken.
INSERT INTO id_segments AS s (name, next, second, secret)
VALUES ($1, (1 << 26) + $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET
  next = $2 + CASE
    WHEN (s.next - 1) >> 26 = (s.next + $2 - 1) >> 26 THEN s.next
    ELSE max((s.next + $2 - 1) >> 26, s.second + 1 - $5) << 26
  END,
  second = max(
    $3,
    s.second + ((s.next + $2 - 1) >> 26) - ((s.next - 1) >> 26),
    ((s.next + $2 - 1) >> 26) + $5
  )
RETURNING next, second, secret
