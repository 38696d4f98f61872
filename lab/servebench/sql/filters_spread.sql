-- filters_spread: creates a function that puts a zero before each of 25 bits, as a geohash
-- needs them.
CREATE FUNCTION pg_temp.spread(bigint) RETURNS bigint LANGUAGE SQL IMMUTABLE AS $$
SELECT (e | (e << 1)) & 6148914691236517205
FROM (SELECT (d | (d << 2)) & 3689348814741910323 AS e
  FROM (SELECT (c | (c << 4)) & 1085102592571150095 AS d
    FROM (SELECT (b | (b << 8)) & 71777214294589695 AS c
      FROM (SELECT ($1 | ($1 << 16)) & 281470681808895 AS b) AS b) AS c) AS d) AS e
$$
