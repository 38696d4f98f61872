-- lease: take a segment of a sequence; the first one creates the row.
--
-- $1  name
-- $2  number of positions, at most 2^26
-- $3  last second, since 1970, in which the caller wants to use them
-- $4  secret of a new row
-- $5  epoch: the second, since 1970, that numbers count from
--
-- returns  next, second, secret of the row: the segment ends before next, and its
--          numbers may have no later second
--
-- next is a floor (in seconds since the epoch) above 26 bits of a position. If the cycle
-- has too few positions for the segment, a new cycle begins, whose floor is above every
-- second that was ever allowed. To detect this, the statement compares the cycle of the
-- last position taken with the cycle of the last position of the new segment.
INSERT INTO id_segments AS s (name, next, second, secret)
VALUES ($1::text, (1::bigint << 26) + $2::bigint, $3::bigint, $4::bigint)
ON CONFLICT (name) DO UPDATE SET
  next = $2::bigint + CASE
    WHEN (s.next - 1) >> 26 = (s.next + $2::bigint - 1) >> 26 THEN s.next
    ELSE greatest((s.next + $2::bigint - 1) >> 26, s.second + 1 - $5::bigint) << 26
  END,
  second = greatest(
    $3::bigint,
    s.second + ((s.next + $2::bigint - 1) >> 26) - ((s.next - 1) >> 26),
    ((s.next + $2::bigint - 1) >> 26) + $5::bigint
  )
RETURNING next, second, secret
